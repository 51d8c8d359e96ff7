// Validates the manifests of `causerie deploy` with the schemas of Kubernetes and Knative.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { Service as KnativeService } from "@kubernetes-models/knative/serving.knative.dev/v1/Service";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Namespace } from "kubernetes-models/v1/Namespace";
import { Secret } from "kubernetes-models/v1/Secret";
import { Service } from "kubernetes-models/v1/Service";
import { ServiceAccount } from "kubernetes-models/v1/ServiceAccount";
import { parseAllDocuments } from "yaml";

const kinds = [
  KnativeService, Deployment, HorizontalPodAutoscaler, NetworkPolicy, PodDisruptionBudget, Namespace, Secret, Service,
  ServiceAccount,
];
const folder = process.env.CAUSERIE_ROOT + "/cli/tests/command/golden/";

/** Returns the objects of a file, after validation with the schemas of their kinds. */
function objects(file) {
  const documents = parseAllDocuments(readFileSync(folder + file, "utf8"));
  const found = documents.map((document) => document.toJSON()).filter(Boolean);
  for (const object of found) {
    const Kind = kinds.find(({ apiVersion, kind }) => apiVersion === object.apiVersion && kind === object.kind);
    assert.ok(Kind, `${object.apiVersion} ${object.kind}`);
    new Kind(object).validate();
  }
  return found;
}

for (const file of readdirSync(folder).filter((name) => name.endsWith(".yaml"))) {
  test(`${file} matches the schemas`, () => {
    const app = objects(file).find(({ kind, apiVersion }) => kind === "Deployment" || apiVersion.startsWith("serving"));
    assert.equal(app.spec.template.spec.containers[0].args[0], "--base-path");
  });
}

test("an invalid manifest is refused", () => {
  const service = objects("knative.yaml").find(({ apiVersion }) => apiVersion.startsWith("serving"));
  service.spec.template.spec.containerConcurrency = "4";
  assert.throws(() => new KnativeService(service).validate(), /containerConcurrency/);
});
