//! Runs the scenarios of the Rust client and prints one JSON line for each: name, ok, error, ms.
//!
//! With `--list` it prints the names of all that are implemented. Else it reads JSON from its
//! standard input: {stages: {NAME: STAGE}, keyPartitions: {KEY: ID}}, and plays those, one after the
//! other. A scenario returns an error to fail, and has a hub of its own.

mod processors;
mod scenarios;
mod stage;

use serde::Deserialize;
use serde_json::json;
use stage::{Outcome, Stage, Told};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const STAGE_LIMIT: Duration = Duration::from_secs(120);

const NAMES: [&str; 19] = [
    "checkpoint_and_resume",
    "equal_owner_level_steals",
    "higher_owner_level_steals",
    "hub_properties",
    "large_event",
    "lower_owner_level_is_refused",
    "offset_beyond_the_end_is_refused",
    "partition_id_picks_the_partition",
    "partition_ids",
    "partition_key_picks_the_partition",
    "processors_balance_and_one_dies",
    "properties_of_a_partition",
    "properties_of_an_empty_partition",
    "send_many",
    "send_one",
    "start_after_offset",
    "start_at_earliest",
    "start_at_sequence_number",
    "unknown_hub_is_refused",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Contract {
    stages: BTreeMap<String, Told>,
    key_partitions: BTreeMap<String, String>,
}

async fn play(stage: &Stage) -> Outcome {
    match stage.told.scenario.as_str() {
        "checkpoint_and_resume" => processors::checkpoint_and_resume(stage).await,
        "equal_owner_level_steals" => scenarios::steals(stage, 3, 3).await,
        "higher_owner_level_steals" => scenarios::steals(stage, 3, 7).await,
        "hub_properties" => scenarios::hub_properties(stage).await,
        "large_event" => scenarios::large_event(stage).await,
        "lower_owner_level_is_refused" => scenarios::lower_level_is_refused(stage).await,
        "offset_beyond_the_end_is_refused" => scenarios::offset_beyond_the_end(stage).await,
        "partition_id_picks_the_partition" => scenarios::id_picks_the_partition(stage).await,
        "partition_ids" => scenarios::partition_ids(stage).await,
        "partition_key_picks_the_partition" => scenarios::key_picks_the_partition(stage).await,
        "processors_balance_and_one_dies" => processors::balance_and_one_dies(stage).await,
        "properties_of_a_partition" => scenarios::properties_of_a_partition(stage).await,
        "properties_of_an_empty_partition" => scenarios::properties_of_an_empty(stage).await,
        "send_many" => scenarios::send_many(stage).await,
        "send_one" => scenarios::send_one(stage).await,
        "start_after_offset" => scenarios::start_after_offset(stage).await,
        "start_at_earliest" => scenarios::start_at_earliest(stage).await,
        "start_at_sequence_number" => scenarios::start_at_sequence_number(stage).await,
        "unknown_hub_is_refused" => scenarios::unknown_hub(stage).await,
        other => Err(format!("there is no scenario {other}").into()),
    }
}

// The streams of the SDK's partitions stay on one thread.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    tokio::task::LocalSet::new().run_until(run()).await
}

async fn run() -> Outcome {
    if std::env::args().nth(1).as_deref() == Some("--list") {
        println!("{}", json!(NAMES));
        return Ok(());
    }
    let contract: Contract = serde_json::from_reader(std::io::stdin())?;
    for (name, told) in contract.stages {
        let stage = Stage {
            told,
            key_partitions: contract.key_partitions.clone(),
        };
        let begun = Instant::now();
        let error = match tokio::time::timeout(STAGE_LIMIT, play(&stage)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no end within {} s", STAGE_LIMIT.as_secs())),
        };
        let ms = begun.elapsed().as_millis() as u64;
        println!(
            "{}",
            json!({"name": name, "ok": error.is_none(), "error": error, "ms": ms})
        );
    }
    Ok(())
}
