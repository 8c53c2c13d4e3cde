"""Rounds of one group: what they write, what they leave alone, and what they say went wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.operated_world import KEY, NAME, WORKLOAD, OperatedWorld
from tidegate.model import LeaseState, Listing, PartitionEnd, Presence, Roster
from tidegate.ports import Announce, Join, List, Refusal, WriteRoster
from tidegate_operator.edges import NotLeadingError
from tidegate_operator.freshness import BEAT_S, FINALIZER
from tidegate_operator.kinds import CONFIG_MAP, SECRET, ObjectName
from tidegate_operator.kube_errors import Unreachable, silence
from tidegate_operator.model import Ends, LedgerTrouble
from unit.operator.test_telling import EARLIEST


def join(world: OperatedWorld, name: str) -> None:
    """A member that lives and says so."""
    memory, lease = world.ledger.memory, f"lease-{name}"
    memory.perform_at(Join(name, lease), world.now)
    memory.perform_at(Announce(Presence(name, "", LeaseState.LEASED, "life"), lease), world.now)


def test_one_round_makes_all_that_a_group_needs(world: OperatedWorld) -> None:
    world.round()
    kinds = {name.kind.name for name in world.kube.objects}
    assert {
        "ConfigMap", "Deployment", "PodDisruptionBudget", "Service", "ServiceAccount",
    } <= kinds  # fmt: skip
    assert world.deployment is not None and world.deployment["spec"]["replicas"] == 2
    assert world.status["observedGeneration"] == 1
    assert world.condition("Ready")[0] == "False"


def test_a_group_on_which_nothing_happens_is_written_nowhere(world: OperatedWorld) -> None:
    world.settle()
    beats = 0
    for _ in range(100):
        before = dict(world.status)
        world.round(after_s=5.0)
        assert not [each for each in world.kube.written if not each.startswith("status")]
        assert not world.ledger.performed or isinstance(world.ledger.performed[0], WriteRoster)
        beats += bool(world.kube.written)
    # Only the time of its status is renewed.
    assert beats <= 500 / BEAT_S + 2
    assert before | {"observedTime": None} == {**world.status, "observedTime": None}


def test_an_operator_that_starts_anew_writes_nothing_but_the_roster_once(
    world: OperatedWorld,
) -> None:
    world.settle()
    world.start()
    performed = []
    for _ in range(20):
        world.round()
        assert world.kube.written == []
        performed += world.ledger.performed
    assert [type(each) for each in performed] == [WriteRoster]


def test_after_a_silence_of_storage_the_next_looks_come_soon_until_the_lag_is_known() -> None:
    world = OperatedWorld()
    world.put_secret()
    world.create(source=EARLIEST, paused=True)
    world.hub.ends = Ends({"0": None})
    world.settle()
    assert world.round(after_s=5.0).again_s == 5.0
    world.cut_off_storage()
    world.round(after_s=5.0)
    world.round(after_s=5.0)
    assert world.condition("Balanced")[0] == "Unknown"
    world.ledger.problem = None
    assert world.round(after_s=5.0).again_s == 1.5
    world.hub.ends = Ends({"0": PartitionEnd(9, "8", None, world.now)})
    assert world.round(after_s=1.5).again_s == 5.0
    world.hub.ends = Ends({"0": None})
    assert world.round(after_s=70.0).again_s == 5.0


def test_what_somebody_changed_is_put_right(world: OperatedWorld) -> None:
    world.settle()
    assert world.deployment is not None
    template = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1}}}}
    world.kube.edit(WORKLOAD, template)
    world.round()
    assert world.deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > 100
    world.kube.take(ObjectName(CONFIG_MAP, KEY.namespace, f"{KEY.name}-group"))
    world.kube.take(WORKLOAD)
    world.round(after_s=400.0)
    assert world.deployment is not None
    assert ObjectName(CONFIG_MAP, KEY.namespace, f"{KEY.name}-group") in world.kube.objects


def test_what_somebody_changes_back_again_and_again_is_told_once_and_written_rarely(
    world: OperatedWorld,
) -> None:
    world.settle()
    written = 0
    for _ in range(100):
        world.kube.edit(WORKLOAD, {"spec": {"revisionHistoryLimit": 99}})
        world.round()
        written += world.kube.written.count("apply Deployment")
    assert written <= 5
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "Contested")
    assert "Let one of the two write it." in message
    assert world.events().count("Contested") == 1
    for _ in range(130):
        world.round()
    assert world.condition("Ready")[1] != "Contested"


def test_a_missing_secret_is_said_and_nothing_is_made_of_half_a_group() -> None:
    world = OperatedWorld()
    world.create()
    world.round()
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "SecretMissing") and "azure" in message
    assert world.deployment is None
    world.put_secret()
    world.round(after_s=5.0)
    assert world.deployment is not None


def test_a_secret_that_goes_missing_changes_nothing_that_stands(world: OperatedWorld) -> None:
    world.settle()
    before = world.deployment
    secret = world.kube.objects[ObjectName(SECRET, KEY.namespace, "azure")]
    world.kube.take(ObjectName(SECRET, KEY.namespace, "azure"))
    world.round(after_s=40.0)
    assert world.condition("Ready")[1] == "SecretMissing"
    assert world.deployment == before
    world.kube.put(secret)
    world.round(after_s=40.0)
    assert world.condition("Ready")[1] != "SecretMissing"


def test_a_certificate_that_only_the_consumers_have_is_told_with_what_to_do(
    tmp_path: Path,
) -> None:
    world = OperatedWorld()
    world.put_secret()
    authority = tmp_path / "authority.pem"
    secret = {"secret": "azure", "key": "storage"}
    world.create(
        ledger={"container": "ledger", "connectionString": secret, "caFile": str(authority)}
    )
    world.round()
    truth, reason, message = world.condition("Ready")
    assert (truth, reason) == ("False", "SettingsInvalid")
    assert f"spec.ledger.caFile: there is no file {authority} in the operator's own" in message
    assert "Mount it there at the same path" in message
    authority.write_text("a certificate")
    world.round()
    assert world.condition("Ready")[1] != "SettingsInvalid"


def test_a_spec_that_cannot_be_read_leaves_what_stood(world: OperatedWorld) -> None:
    world.settle()
    before = world.deployment
    world.kube.edit(NAME, {"spec": {"handler": {"code": 5}}})
    world.round()
    assert world.condition("Ready")[1] == "SpecInvalid"
    assert world.deployment == before
    world.kube.edit(NAME, {"spec": {"handler": {"code": "other:handle"}}})
    world.round()
    assert world.condition("Ready")[1] != "SpecInvalid" and world.deployment != before


def test_a_key_of_a_newer_version_is_told_in_the_log_and_the_group_is_looked_after(
    world: OperatedWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.settle()
    world.kube.edit(NAME, {"spec": {"calm": True, "handler": {"code": "other:handle"}}})
    before = world.deployment
    world.round()
    world.round()
    assert world.condition("Ready")[1] != "SpecInvalid" and world.deployment != before
    told = [each for each in caplog.messages if "spec.calm: of a newer version" in each]
    assert len(told) == 1 and "Upgrade the operator, or take it out." in told[0]


def test_without_storage_nothing_is_changed_but_what_the_user_asked_of_the_pods(
    world: OperatedWorld,
) -> None:
    world.settle()
    world.cut_off_storage()
    for _ in range(30):
        world.round()
        assert world.ledger.performed == []
    assert world.deployment is not None and world.deployment["spec"]["replicas"] == 2
    assert world.condition("Ready")[1] == "LedgerUnreachable"
    world.ledger.problem = None
    world.round()
    assert world.condition("Ready")[1] != "LedgerUnreachable"


def test_an_operator_that_no_longer_leads_writes_nothing(world: OperatedWorld) -> None:
    world.leads = False
    with pytest.raises(NotLeadingError):
        world.round()
    assert world.kube.written == [] and world.ledger.performed == []
    assert world.deployment is None


def test_a_roster_that_somebody_else_wrote_meanwhile_is_no_error(world: OperatedWorld) -> None:
    join(world, "by-hand")

    def write() -> None:
        world.ledger.memory.perform_at(WriteRoster(Roster(generation=9), ""), world.now)

    world.ledger.meanwhile = write
    world.round()
    assert [type(each) for each in world.ledger.performed] == [WriteRoster]
    assert world.condition("Ready")[1] not in set(LedgerTrouble)
    listing = world.ledger.memory.perform_at(List(), world.now)
    assert isinstance(listing, Listing) and listing.roster is not None
    assert listing.roster.generation == 9


def test_a_cluster_that_does_not_answer_is_said_and_tried_again(world: OperatedWorld) -> None:
    world.kube.fails = silence("apply", "connection refused")
    world.round()
    assert world.condition("Ready")[1] == Unreachable.reason
    world.round()
    assert world.deployment is not None
    assert world.condition("Ready")[1] != Unreachable.reason


def test_a_group_that_is_gone_is_over(world: OperatedWorld) -> None:
    world.settle()
    world.delete()
    assert world.round().is_over


# --- the ledger that goes with its group


@pytest.fixture
def finished() -> OperatedWorld:
    """A group that says onDelete: Delete, and stands."""
    world = OperatedWorld()
    world.put_secret()
    world.create()
    world.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Delete"}}})
    world.settle()
    return world


def test_only_a_group_whose_ledger_goes_with_it_has_a_finalizer(
    world: OperatedWorld, finished: OperatedWorld
) -> None:
    world.settle()
    assert world.group is not None and not world.group["metadata"].get("finalizers")
    assert finished.group is not None
    assert finished.group["metadata"]["finalizers"] == [FINALIZER]
    finished.kube.edit(NAME, {"spec": {"ledger": {"onDelete": "Keep"}}})
    finished.round()
    assert finished.group["metadata"]["finalizers"] == []


def test_the_ledger_goes_after_the_pods_and_before_the_group(finished: OperatedWorld) -> None:
    finished.delete()
    finished.ledger.left = 3
    finished.round()
    assert finished.deployment is None
    finished.round()
    assert finished.ledger.erased == 0 and NAME in finished.kube.objects
    finished.ledger.left = 0
    finished.round()
    assert finished.ledger.erased == 1 and NAME not in finished.kube.objects
    assert "LedgerErased" in finished.events()
    assert finished.round().is_over


@pytest.mark.parametrize("refusal", [Refusal.UNKNOWN, Refusal.DENIED])
def test_a_ledger_that_cannot_be_removed_stays_and_the_group_goes(
    finished: OperatedWorld, refusal: Refusal
) -> None:
    finished.cut_off_storage(refusal)
    finished.delete()
    began = finished.now
    while finished.group is not None:
        finished.round()
        assert finished.now - began < 600
    assert finished.ledger.erased == 0
    assert "LedgerLeft" in finished.events()


def test_somebody_elses_finalizer_is_not_lost(finished: OperatedWorld) -> None:
    finished.kube.edit(NAME, {"metadata": {"finalizers": [FINALIZER, "other.example/keeps"]}})
    finished.delete()
    for _ in range(5):
        finished.round()
    assert finished.group is not None
    assert finished.group["metadata"]["finalizers"] == ["other.example/keeps"]
