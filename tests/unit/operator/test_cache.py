"""What the watches tell, by group, and when it is worth a look."""

from __future__ import annotations

from typing import Any

from tidegate_operator.cache import Cache, Place, Version, differing, missed
from tidegate_operator.facts import newest_revision, pod_facts, workload_facts
from tidegate_operator.kinds import CONSUMER_GROUP, DEPLOYMENT, POD
from tidegate_operator.model import Ended, GroupKey, PodFacts, Running

HOME = GroupKey("default", "home")
CREATED = "2026-11-18T10:00:00Z"
CREATED_AT = 1794996000.0


def group(version: str = "1", generation: int = 1, **more: Any) -> dict[str, Any]:
    metadata = {
        "namespace": "default", "name": "home", "uid": "g-1", "resourceVersion": version,
        "generation": generation, "managedFields": [{"manager": "kubectl"}],
    }  # fmt: skip
    return {"metadata": {**metadata, **more}, "spec": {}}


def pod(
    name: str = "home-7d9-abc", version: str = "1", label: str | None = "home", **status: Any
) -> dict[str, Any]:
    labels = {"pod-template-hash": "7d9"} | ({"tidegate.dev/group": label} if label else {})
    return {
        "metadata": {
            "namespace": "default", "name": name, "uid": f"u-{name}", "resourceVersion": version,
            "creationTimestamp": CREATED, "labels": labels,
        },
        "spec": {},
        "status": status,
    }  # fmt: skip


def deployment(version: str = "1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": "default", "name": "home", "uid": "d-1", "resourceVersion": version,
            "generation": 3, "labels": {"tidegate.dev/group": "home"},
            "annotations": {"deployment.kubernetes.io/revision": "4"},
        },
        "spec": {"replicas": 2},
        "status": status,
    }  # fmt: skip


def test_all_objects_of_a_group_are_found_under_its_key() -> None:
    cache = Cache()
    assert cache.hear(CONSUMER_GROUP, group(), is_gone=False) == {HOME}
    assert cache.hear(DEPLOYMENT, deployment(), is_gone=False) == {HOME}
    assert cache.hear(POD, pod(), is_gone=False) == {HOME}
    known = cache.known(HOME)
    assert known.document is not None and "managedFields" not in known.document["metadata"]
    assert known.deployment is not None
    assert list(known.pods) == ["home-7d9-abc"]
    assert cache.groups() == {HOME}


def test_what_only_we_have_written_wakes_nobody() -> None:
    cache = Cache()
    cache.hear(CONSUMER_GROUP, group(), is_gone=False)
    with_status = {**group("2"), "status": {"lag": 5}}
    assert cache.hear(CONSUMER_GROUP, with_status, is_gone=False) == set()
    known = cache.known(HOME)
    assert known.document is not None and known.document["status"] == {"lag": 5}
    assert cache.hear(CONSUMER_GROUP, group("3", generation=2), is_gone=False) == {HOME}
    deleted = group("4", generation=2, deletionTimestamp=CREATED)
    assert cache.hear(CONSUMER_GROUP, deleted, is_gone=False) == {HOME}


def test_a_deployment_is_worth_a_look_when_its_revision_or_its_failure_changes() -> None:
    cache = Cache()
    cache.hear(DEPLOYMENT, deployment(), is_gone=False)
    counted = deployment("2", readyReplicas=1)
    assert cache.hear(DEPLOYMENT, counted, is_gone=False) == set()
    quota = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
    failed = deployment("3", conditions=[quota])
    assert cache.hear(DEPLOYMENT, failed, is_gone=False) == {HOME}
    assert workload_facts(failed, "7d9").failure == "exceeded quota"


def test_a_pod_is_worth_a_look_when_a_fact_of_it_changes() -> None:
    cache = Cache()
    cache.hear(POD, pod(), is_gone=False)
    assert cache.hear(POD, pod(version="2", hostIP="10.0.0.1"), is_gone=False) == set()
    ready = [{"type": "Ready", "status": "True"}]
    assert cache.hear(POD, pod(version="3", conditions=ready), is_gone=False) == {HOME}
    assert cache.versions(POD)[Place("default", "home-7d9-abc")].resource_version == "3"


def test_what_is_gone_is_forgotten_and_an_old_news_of_it_harms_nothing() -> None:
    cache = Cache()
    cache.hear(POD, pod(), is_gone=False)
    anew = pod()
    anew["metadata"]["uid"] = "u-2"
    cache.hear(POD, anew, is_gone=False)
    assert cache.hear(POD, pod(), is_gone=True) == set()
    assert cache.known(HOME).pods["home-7d9-abc"].uid == "u-2"
    assert cache.hear(POD, anew, is_gone=True) == {HOME}
    assert cache.known(HOME).is_empty and not cache.versions(POD)


def test_a_pod_that_changes_its_group_is_a_change_for_both() -> None:
    cache = Cache()
    cache.hear(POD, pod(), is_gone=False)
    moved = cache.hear(POD, pod(version="2", label="alarms"), is_gone=False)
    assert moved == {HOME, GroupKey("default", "alarms")}
    assert not cache.known(HOME).pods
    assert cache.hear(POD, pod(version="3", label=None), is_gone=False) == {
        GroupKey("default", "alarms")
    }
    assert not cache.versions(POD)


def test_a_watch_is_told_from_the_list_only_where_it_kept_something_to_itself() -> None:
    here, there, new = (Place("default", name) for name in ("here", "there", "new"))
    known = {here: Version("1", "5"), there: Version("2", "6")}
    listed = {here: Version("1", "5"), there: Version("2", "9"), new: Version("3", "9")}
    then = differing(known, listed)
    assert then == {there: Version("2", "6"), new: None}
    told = {**known, there: Version("2", "9")}
    assert missed(then, told) == {new}
    assert missed(then, {**told, new: Version("3", "12")}) == set()


# --- facts


def container(**state: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"name": "consumer", "restartCount": 2, **state}]}


END = {"startedAt": CREATED, "finishedAt": "2026-11-18T10:01:00Z", "exitCode": 137,
       "reason": "OOMKilled"}  # fmt: skip
ENDED = Ended(CREATED_AT, CREATED_AT + 60, "OOMKilled", 137)


def test_a_container_that_ended_says_when_and_how() -> None:
    waiting = container(
        state={"waiting": {"reason": "CrashLoopBackOff"}}, lastState={"terminated": END}
    )
    facts = pod_facts(pod(**waiting)).container
    assert (facts.waiting, facts.last_end, facts.restarts) == ("CrashLoopBackOff", ENDED, 2)
    ended = pod_facts(pod(**container(state={"terminated": END}))).container
    assert ended.last_end == ENDED and ended.running is None
    running = container(state={"running": {"startedAt": CREATED}}, lastState={"terminated": END})
    facts = pod_facts(pod(**running)).container
    assert (facts.running, facts.last_end) == (Running(CREATED_AT), ENDED)


def test_an_end_without_its_times_confirms_nothing() -> None:
    ended = container(state={"terminated": {**END, "startedAt": None}})
    assert pod_facts(pod(**ended)).container.last_end is None


def test_another_container_of_the_pod_says_nothing_of_the_member() -> None:
    other: Any = [{"name": "sidecar", "state": {"terminated": END}}]
    assert pod_facts(pod(containerStatuses=other)).container.last_end is None


def test_a_pod_that_has_said_nothing_yet_is_pending() -> None:
    facts = pod_facts(pod())
    assert facts == PodFacts("home-7d9-abc", "u-home-7d9-abc", CREATED_AT, "7d9")


def test_new_pods_get_the_revision_that_the_deployment_is_at() -> None:
    def replica_set(number: str, revision: str, owner: str = "d-1") -> dict[str, Any]:
        return {
            "metadata": {
                "annotations": {"deployment.kubernetes.io/revision": number},
                "labels": {"pod-template-hash": revision},
                "ownerReferences": [{"uid": owner, "controller": True}],
            }
        }

    sets = [replica_set("3", "old"), replica_set("4", "new"), replica_set("4", "alien", "d-2")]
    assert newest_revision(deployment(), sets) == "new"
    assert newest_revision(deployment(), sets[:1]) == ""
    sets.append(replica_set("10", "newer than the Deployment says"))
    assert newest_revision(deployment(), sets) == "newer than the Deployment says"


def test_a_status_that_was_written_is_kept_once_whoever_is_first_to_tell_of_it() -> None:
    wrote = {"state": "Balanced", "partitionStates": [{"partition": "0"}]}
    cache = Cache()
    cache.hear(CONSUMER_GROUP, group() | {"status": dict(wrote)}, is_gone=False)
    before = cache.known(HOME).document
    cache.tell(HOME, wrote)
    known = cache.known(HOME).document
    assert known is before and known is not None, "nothing has changed that is worth a look"
    assert known["status"] is wrote
    cache.hear(CONSUMER_GROUP, group("2") | {"status": dict(wrote)}, is_gone=False)
    known = cache.known(HOME).document
    assert known is not None and known["status"] is wrote
    cache.hear(CONSUMER_GROUP, group("3") | {"status": {"state": "Lost"}}, is_gone=False)
    known = cache.known(HOME).document
    assert known is not None and known["status"] == {"state": "Lost"}


def ended_pod(name: str, **more: Any) -> dict[str, Any]:
    state = {"terminated": {"startedAt": CREATED, "finishedAt": CREATED, "exitCode": 137}}
    return pod(name, containerStatuses=[{"name": "consumer", "state": state}], **more)


def gone_of(cache: Cache) -> list[str]:
    return list(cache.known(HOME).gone)


def test_how_a_pod_ended_is_kept_until_it_is_taken_in() -> None:
    cache = Cache()
    cache.hear(CONSUMER_GROUP, group(), is_gone=False)
    cache.hear(POD, ended_pod("one"), is_gone=False)
    # Found missing by a listing, which says nothing of how it ended.
    bare = {"metadata": {"namespace": "default", "name": "one", "uid": "u-one"}}
    assert cache.hear(POD, bare, is_gone=True) == {HOME}
    assert gone_of(cache) == ["one"] and not cache.known(HOME).pods
    cache.taken_in(HOME, cache.known(HOME).gone.values())
    assert gone_of(cache) == []


def test_of_pods_that_ran_or_are_there_again_no_end_is_kept() -> None:
    cache = Cache()
    cache.hear(CONSUMER_GROUP, group(), is_gone=False)
    running = {"name": "consumer", "state": {"running": {"startedAt": CREATED}}}
    cache.hear(POD, ended_pod("one"), is_gone=False)
    # It had begun anew since.
    cache.hear(POD, pod("one", containerStatuses=[running]), is_gone=True)
    assert gone_of(cache) == []
    cache.hear(POD, ended_pod("one"), is_gone=False)
    cache.hear(POD, ended_pod("one"), is_gone=True)
    cache.hear(POD, pod("one"), is_gone=False)
    assert gone_of(cache) == []


def test_where_nobody_takes_them_in_only_so_many_ends_are_kept() -> None:
    cache = Cache()
    cache.hear(CONSUMER_GROUP, group(), is_gone=False)
    for number in range(100):
        cache.hear(POD, ended_pod(f"pod-{number}"), is_gone=False)
        cache.hear(POD, ended_pod(f"pod-{number}"), is_gone=True)
    assert gone_of(cache) == [f"pod-{number}" for number in range(68, 100)]
    cache.hear(CONSUMER_GROUP, group(), is_gone=True)
    assert cache.known(HOME).is_empty and gone_of(cache) == []
