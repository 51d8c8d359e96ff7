//! The arguments of `causerie decide`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::arguments::options::{ContextOption, small_count};

#[derive(Args)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("asked").required(true).args(["question", "questions", "fit"]))]
pub(crate) struct DecideArguments {
    /// What the question is about; - reads standard input.
    #[arg(required_unless_present = "fit")]
    pub(crate) state: Option<String>,
    /// A question: answered by yes or no, or by what --choice or --level name.
    pub(crate) question: Option<String>,
    /// GGUF file, Hugging Face folder, or NAMESPACE/NAME[:TAG], which is downloaded if needed.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: String,
    /// A possible answer; given several times, the question is a choice.
    #[arg(long, value_name = "LABEL", requires = "question")]
    pub(crate) choice: Vec<String>,
    /// A level, the lowest first; given several times, the question is a score.
    #[arg(long, value_name = "LABEL", requires = "question", conflicts_with = "choice")]
    pub(crate) level: Vec<String>,
    /// Ask the questions of this JSON file: an object of questions by their names, as POST /v1/systemone takes it.
    #[arg(long, value_name = "FILE", conflicts_with = "question")]
    pub(crate) questions: Option<PathBuf>,
    /// Show this picture before the question; may be given several times. The model must see.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Vec<PathBuf>,
    /// Divide the log-probabilities of answers by this: below 1, they are more certain [default: 1].
    #[arg(long, value_name = "X")]
    pub(crate) temperature: Option<f64>,
    /// Orders in which choices are shown, to average over [default: 2, and 1 for decision models].
    #[arg(long, value_name = "N", value_parser = small_count)]
    pub(crate) rotations: Option<usize>,
    /// The least probability of all labels together; below it, the model did not answer [default: 0.1, and 0 for decision models].
    #[arg(long, value_name = "P")]
    pub(crate) min_label_probability: Option<f64>,
    /// Measure how well the model decides on the examples of this file, and find the temperatures that fit them. Each line is an
    /// object of state, question and answer; the answer is true or false, a label, or the number of a level.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["state", "question", "questions", "temperature", "image"])]
    pub(crate) fit: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) context: ContextOption,
}

const EXAMPLES: &str = "\
Examples:
  causerie decide --model Qwen2.5-1.5B.gguf \"The kettle boils.\" \"Is the water hot?\"
  causerie decide --model Qwen2.5-1.5B.gguf - \"What is it about?\" --choice billing --choice shipping < mail.txt
  causerie decide --model Qwen2.5-1.5B.gguf - --questions questions.json --json < mail.txt
  causerie decide --model Qwen2.5-1.5B.gguf --fit examples.jsonl

A file of questions:
  {\"urgent\": {\"type\": \"noul\", \"instructions\": \"Is it urgent?\"},
   \"topic\": {\"type\": \"choice\", \"instructions\": \"What is it about?\", \"criteria\": {\"billing\": null, \"shipping\": \"parcels\"}},
   \"anger\": {\"type\": \"score\", \"instructions\": \"How angry is it?\", \"criteria\": [\"calm\", \"annoyed\", \"furious\"]}}";
