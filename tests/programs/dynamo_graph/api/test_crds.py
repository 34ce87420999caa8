"""The CRDs in `config/crd` are those of the models."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynamo_ctrl.objects.schema.crd import filename, to_yaml
from dynamo_graph.api.crds import CUSTOM_RESOURCES, documents

FOLDER = Path(__file__).parents[4] / "config/crd"
CLIENT_SIDE_APPLY_LIMIT = 262_144


@pytest.mark.parametrize("document", documents(), ids=filename)
def test_the_file_is_what_the_models_say(document: dict[str, object]) -> None:
    assert (FOLDER / filename(document)).read_text() == to_yaml([document]), "run: dynamo-manager crds"


@pytest.mark.parametrize("document", documents(), ids=filename)
def test_the_document_is_small_enough_for_every_client(document: dict[str, object]) -> None:
    assert len(to_yaml([document])) < CLIENT_SIDE_APPLY_LIMIT / 4


def test_the_names_are_those_of_the_group() -> None:
    names = {resource.kind.kind: (str(resource.kind), resource.kind.short) for resource in CUSTOM_RESOURCES}
    assert names == {
        "DynamoGraphDeployment": ("dynamographdeployments.nvidia.com", ("dgd",)),
        "DynamoComponentDeployment": ("dynamocomponentdeployments.nvidia.com", ("dcd",)),
        "DynamoGraphDeploymentScalingAdapter": ("dynamographdeploymentscalingadapters.nvidia.com", ("dgdsa",)),
    }


def test_no_status_and_no_pod_template_has_defaults() -> None:
    for document in documents():
        [version] = document["spec"]["versions"]
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        assert "'default'" not in str(properties["status"])
    graph = documents()[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    template = graph["properties"]["components"]["items"]["properties"]["podTemplate"]
    assert set(template) == {"type", "description", "x-kubernetes-preserve-unknown-fields"}
