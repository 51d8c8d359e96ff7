//! What probing has found of a model's templates, in a form that is stored with packed weights, so that loading renders nothing.

use serde::{Deserialize, Serialize};

use crate::prompt::capabilities::Capabilities;
use crate::prompt::probed::TemplateKey;

/// The capabilities of a model's templates, each with the digest of all that they depend on. A template that is not among them is
/// probed.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TemplateFacts(Vec<TemplateFact>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct TemplateFact {
    template: TemplateKey,
    capabilities: Capabilities,
}

impl TemplateFacts {
    /// Reads facts that were stored; none if they have another form.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    /// The facts in the form in which they are stored.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Whether there is nothing to store.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, template: TemplateKey, capabilities: Capabilities) {
        self.0.push(TemplateFact { template, capabilities });
    }

    pub(super) fn find(&self, template: TemplateKey) -> Option<Capabilities> {
        self.0.iter().find(|fact| fact.template == template).map(|fact| fact.capabilities)
    }
}
