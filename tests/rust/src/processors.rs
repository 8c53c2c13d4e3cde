//! Scenarios: two processors that share a checkpoint store.
//!
//! The SDK's store on blobs is not out for this version of it, so that the store is the SDK's own in
//! memory, and both processors are in this process, each with a connection of its own.

use crate::stage::{Fault, Outcome, Stage, earliest, equal, texts};
use azure_core::time::Duration as Seconds;
use azure_messaging_eventhubs::models::StartPositions;
use azure_messaging_eventhubs::processor::PartitionClient;
use azure_messaging_eventhubs::{EventProcessor, InMemoryCheckpointStore, ProcessorStrategy};
use futures::StreamExt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

const ALL: [&str; 4] = ["0", "1", "2", "3"];
const PATIENCE: Duration = Duration::from_secs(40);

/// What a processor has come to so far.
#[derive(Clone, Debug, Default)]
struct Heard {
    sequences: BTreeMap<String, Vec<i64>>,
    checkpoints: BTreeMap<String, i64>,
    owned: Vec<String>,
}

/// A processor that runs until it is dropped, and behind which events it writes a checkpoint.
struct Running {
    heard: Arc<Mutex<Heard>>,
    tasks: JoinSet<()>,
}

type Marks = fn(i64) -> bool;

impl Running {
    async fn start(
        stage: &Stage,
        store: &Arc<InMemoryCheckpointStore>,
        marks: Marks,
    ) -> Result<Self, Fault> {
        let processor = EventProcessor::builder()
            .with_load_balancing_strategy(ProcessorStrategy::Greedy)
            .with_update_interval(Seconds::seconds(1))
            .with_partition_expiration_duration(Seconds::seconds(8))
            .with_start_positions(StartPositions {
                default: earliest(),
                ..Default::default()
            })
            .build(stage.consumer().await?, store.clone())
            .await?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let mut tasks = JoinSet::new();
        let balancing = processor.clone();
        tasks.spawn_local(async move {
            if let Err(error) = balancing.run().await {
                eprintln!("the processor ended: {error}");
            }
        });
        let told = heard.clone();
        tasks.spawn_local(async move {
            let mut partitions = JoinSet::new();
            while let Ok(client) = processor.next_partition_client().await {
                partitions.spawn_local(process(client, told.clone(), marks));
            }
        });
        Ok(Running { heard, tasks })
    }

    fn heard(&self) -> Heard {
        self.heard.lock().expect("nobody panics with it").clone()
    }

    /// Ends it in the middle of whatever it does, as a process that is killed.
    async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}

async fn process(client: Arc<PartitionClient>, heard: Arc<Mutex<Heard>>, marks: Marks) {
    let id = client.get_partition_id().to_string();
    let with = |change: &dyn Fn(&mut Heard)| change(&mut heard.lock().expect("nobody panics"));
    with(&|heard| heard.owned.push(id.clone()));
    let mut events = client.stream_events();
    while let Some(next) = events.next().await {
        // Lost to another processor, as a rule.
        let Ok(event) = next else { break };
        let sequence = event.sequence_number().unwrap_or(-2);
        with(&|heard| {
            heard
                .sequences
                .entry(id.clone())
                .or_default()
                .push(sequence)
        });
        if !marks(sequence) {
            continue;
        }
        if let Err(error) = client.update_checkpoint(&event).await {
            eprintln!("no checkpoint for partition {id}: {error}");
            break;
        }
        with(&|heard| {
            heard.checkpoints.insert(id.clone(), sequence);
        });
    }
    drop(events);
    with(&|heard| heard.owned.retain(|each| *each != id));
    // A processor takes a partition again only after the client of the last time was closed.
    if let Some(ours) = Arc::into_inner(client)
        && let Err(error) = ours.close().await
    {
        eprintln!("partition {id} was not closed: {error}");
    }
}

async fn until(what: &str, holds: impl Fn() -> Result<(), String>) -> Outcome {
    let deadline = Instant::now() + PATIENCE;
    while let Err(found) = holds() {
        if Instant::now() > deadline {
            return Err(format!("waited in vain for {what}: {found}").into());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

fn check(holds: bool, shown: &impl std::fmt::Debug) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("{shown:?}"))
    }
}

/// The events behind the checkpoint come again, and no other.
pub async fn checkpoint_and_resume(stage: &Stage) -> Outcome {
    stage.send_to("1", &texts(10)).await?;
    let store = Arc::new(InMemoryCheckpointStore::new());
    let first = Running::start(stage, &store, |sequence| sequence == 4).await?;
    until("ten events and a checkpoint", || {
        let found = first.heard();
        let got = found.sequences.get("1").map_or(0, Vec::len);
        check(got == 10 && found.checkpoints.get("1") == Some(&4), &found)
    })
    .await?;
    first.kill().await;
    let second = Running::start(stage, &store, |_| false).await?;
    until("five events", || {
        let found = second.heard();
        check(found.sequences.get("1").map_or(0, Vec::len) >= 5, &found)
    })
    .await?;
    let found = second.heard();
    second.kill().await;
    equal(found.sequences.get("1").cloned(), Some((5..10).collect()))
}

async fn send_everywhere(stage: &Stage, count: usize) -> Outcome {
    for partition in ALL {
        stage.send_to(partition, &texts(count)).await?;
    }
    Ok(())
}

pub async fn balance_and_one_dies(stage: &Stage) -> Outcome {
    send_everywhere(stage, 25).await?;
    let store = Arc::new(InMemoryCheckpointStore::new());
    let survivor = Running::start(stage, &store, |_| true).await?;
    let victim = Running::start(stage, &store, |_| true).await?;
    until("two partitions each", || {
        let (ours, theirs) = (survivor.heard(), victim.heard());
        let mut both = [ours.owned.clone(), theirs.owned.clone()].concat();
        both.sort();
        check(ours.owned.len() == 2 && both == ALL, &(ours, theirs))
    })
    .await?;
    send_everywhere(stage, 25).await?;
    let highest = |one: &Heard, other: &Heard, at: &str| {
        one.checkpoints
            .get(at)
            .max(other.checkpoints.get(at))
            .copied()
            .unwrap_or(-1)
    };
    until("checkpoints at 49 everywhere", || {
        let (ours, theirs) = (survivor.heard(), victim.heard());
        check(
            ALL.iter().all(|at| highest(&ours, &theirs, at) >= 49),
            &(ours, theirs),
        )
    })
    .await?;
    victim.kill().await;
    let before = survivor.heard().sequences;
    send_everywhere(stage, 25).await?;
    until("the survivor to own and finish everything", || {
        let ours = survivor.heard();
        let is_done = ALL.iter().all(|at| ours.checkpoints.get(*at) == Some(&74));
        check(ours.owned.len() == 4 && is_done, &ours)
    })
    .await?;
    let after = survivor.heard().sequences;
    survivor.kill().await;
    for at in ALL {
        let seen = before.get(at).map_or(0, Vec::len);
        equal(after[at][seen..].to_vec(), (50..75).collect())?;
    }
    Ok(())
}
