"""The Pod Security Standards, control by control, and groups whose templates break them."""

from __future__ import annotations

from typing import Any

import pytest

from support.pod_samples import SAMPLES, Sample, container, template
from tidegate.group_file.spark_spec import DriverSpec, EngineKind, ExecutorSpec, SparkSpec
from tidegate.spark.owned_keys import refusal
from tidegate_operator.engines import RenderInput, engine_of
from tidegate_operator.merge import TemplateError
from tidegate_operator.model import GroupKey
from tidegate_operator.pod_security import BASELINE, RESTRICTED, Profile, flaws

KEY = GroupKey("homes", "activity")
# From the loosest one on.
ORDER = (Profile.PRIVILEGED, Profile.BASELINE, Profile.RESTRICTED)


def rendered(profile: Profile, document: dict[str, Any]) -> None:
    """Render a group of each engine. Raises TemplateError if the profile refuses the template."""
    spark = SparkSpec(
        driver=DriverSpec(template=document), executor=ExecutorSpec(template=document)
    )
    wanted = RenderInput(
        KEY, "u", "kind: x\n", "i", template=document, profile=profile, spark=spark
    )
    for engine in EngineKind:
        engine_of(engine).manifests(wanted)


@pytest.mark.parametrize("profile", ORDER)
@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_profile_refuses_what_the_standard_says_at_its_path_and_nothing_else(
    sample: Sample, profile: Profile
) -> None:
    found = [flaw.path for flaw in flaws(sample.document, "spec.template", profile)]
    is_refused = ORDER.index(profile) > ORDER.index(sample.passes)
    # A privileged container may escalate, too: that flaw comes after it.
    assert found[:1] == ([f"spec.template.{sample.path}"] if is_refused else [])


def test_every_control_has_samples_that_pass_and_that_do_not() -> None:
    refused = {each.control for each in SAMPLES if each.passes is not Profile.RESTRICTED}
    assert refused == {*BASELINE, *RESTRICTED}


def test_the_pods_that_the_operator_makes_by_itself_keep_to_the_strictest_profile() -> None:
    rendered(Profile.RESTRICTED, {})


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [{"name": "root", "securityContext": {"privileged": True}}]},
         r"containers\[root\]\.securityContext\.privileged: leave it out"),
        ({"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
         r"volumes\[host\]\.hostPath: use a volume of another kind"),
        ({"hostNetwork": True}, r"hostNetwork: leave it out"),
        ({"containers": [{"name": f"c{n}", "image": "i"} for n in range(1000)]},
         r"containers: 1001 are there: write at most 32"),
    ],
)  # fmt: skip
def test_a_group_that_asks_for_more_than_the_operator_allows_is_told_where_and_what_to_write(
    spec: dict[str, Any], path: str
) -> None:
    with pytest.raises(TemplateError, match=rf"^spec\.template\.spec\.{path}") as refused:
        rendered(Profile.BASELINE, {"spec": spec})
    assert "profile baseline, which refuses that" in str(refused.value)
    assert "podSecurity among the values of the operator's chart" in str(refused.value)
    rendered(Profile.PRIVILEGED, {"spec": spec})


@pytest.mark.parametrize("process", ["driver", "executor"])
def test_processes_of_spark_are_held_to_the_same_profile(process: str) -> None:
    document = {"spec": {"hostPID": True}}
    kind = DriverSpec if process == "driver" else ExecutorSpec
    spark = SparkSpec(**{process: kind(template=document)})  # type: ignore[arg-type]
    wanted = RenderInput(KEY, "u", "kind: x\n", "i", spark=spark)
    with pytest.raises(TemplateError, match=rf"^spec\.spark\.{process}\.template\.spec\.hostPID: "):
        engine_of(EngineKind.SPARK).manifests(wanted)


@pytest.mark.parametrize(
    "key",
    [
        "spark.kubernetes.executor.volumes.hostPath.root.mount.path",
        "spark.kubernetes.executor.volumes.nfs.root.mount.path",
        "spark.kubernetes.executor.annotation.container.apparmor.security.beta.kubernetes.io/x",
    ],
)
def test_no_setting_of_spark_says_what_belongs_in_a_template(key: str) -> None:
    assert "write spec.spark.driver.template or spec.spark.executor.template" in str(refusal(key))


def test_the_first_field_is_told_and_how_many_others_there_are() -> None:
    spec = {"hostNetwork": True, "hostPID": True, "hostIPC": True}
    with pytest.raises(TemplateError, match=r"hostNetwork: .*refuses that \(and 2 more\)"):
        rendered(Profile.BASELINE, {"spec": spec})


@pytest.mark.parametrize(
    "spec",
    [
        {"securityContext": "none"},
        {"volumes": [None, "x", {"name": {}}]},
        {"containers": ["side"], "initContainers": 7},
        {"securityContext": {"sysctls": {}, "seLinuxOptions": []}},
    ],
)
def test_what_no_pod_can_say_is_left_to_the_api_server(spec: dict[str, Any]) -> None:
    """Another person writes a template: none makes the check crash."""
    document = {"metadata": {"annotations": []}, "spec": spec}
    assert not [*flaws(document, "spec.template", Profile.BASELINE)]


def test_a_sidecar_that_says_nothing_is_let_in_by_the_default_alone() -> None:
    document = template(None, container(securityContext=None))
    assert not [*flaws(document, "at", Profile.BASELINE)]
    assert {flaw.path for flaw in flaws(document, "at", Profile.RESTRICTED)} == {
        "at.spec.containers[side].securityContext.allowPrivilegeEscalation",
        "at.spec.containers[side].securityContext.capabilities.drop",
    }
