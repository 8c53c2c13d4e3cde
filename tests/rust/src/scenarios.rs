//! Scenarios: sending, positions, facts, owner levels and refusals.

use crate::stage::{
    Fault, Outcome, Stage, bodies, earliest, equal, receiver, refused, sequences, take, texts,
};
use azure_messaging_eventhubs::models::ReceivedEventData;
use azure_messaging_eventhubs::{
    EventDataBatchOptions, SendEventOptions, StartLocation, StartPosition,
};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);

pub async fn send_one(stage: &Stage) -> Outcome {
    stage.send_to("0", &[b"hello".to_vec()]).await?;
    let events = stage.read("0", earliest(), 1).await?;
    let event = &events[0];
    equal(bodies(&events), vec![b"hello".to_vec()])?;
    equal(event.sequence_number(), Some(0))?;
    equal(event.offset().clone(), Some("0".to_string()))?;
    let age = SystemTime::now().duration_since(event.enqueued_time().ok_or("no time")?)?;
    if age > MINUTE {
        return Err(format!("it was enqueued {age:?} ago").into());
    }
    Ok(())
}

pub async fn send_many(stage: &Stage) -> Outcome {
    let sent = texts(500);
    stage.send_to("1", &sent).await?;
    let events = stage.read("1", earliest(), sent.len()).await?;
    equal(bodies(&events), sent)
}

pub async fn large_event(stage: &Stage) -> Outcome {
    let body: Vec<u8> = (0..900_000).map(|at| (at % 251) as u8).collect();
    // Not in a batch: the SDK counts its first event twice.
    let to = SendEventOptions {
        partition_id: Some("0".to_string()),
    };
    let producer = stage.producer(&stage.told.hub).await?;
    producer.send_event(body.clone(), Some(to)).await?;
    producer.close().await?;
    let events = stage.read("0", earliest(), 1).await?;
    if bodies(&events) != [body] {
        return Err("the body differs from what was sent".into());
    }
    Ok(())
}

pub async fn id_picks_the_partition(stage: &Stage) -> Outcome {
    for partition in ["0", "1"] {
        stage
            .send_to(partition, &[partition.as_bytes().to_vec()])
            .await?;
    }
    for partition in ["0", "1"] {
        let events = stage.read(partition, earliest(), 1).await?;
        equal(bodies(&events), vec![partition.as_bytes().to_vec()])?;
    }
    Ok(())
}

pub async fn key_picks_the_partition(stage: &Stage) -> Outcome {
    let mut wanted: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (key, partition) in &stage.key_partitions {
        let to = EventDataBatchOptions {
            partition_key: Some(key.clone()),
            ..Default::default()
        };
        stage.send(to, &[key.as_bytes().to_vec()]).await?;
        wanted.entry(partition).or_default().push(key.clone());
    }
    for (partition, keys) in wanted {
        let events = stage.read(partition, earliest(), keys.len()).await?;
        let carried: Vec<Option<String>> = events
            .iter()
            .map(|event| event.partition_key().clone())
            .collect();
        equal(carried, keys.into_iter().map(Some).collect())?;
    }
    Ok(())
}

async fn ten_events(stage: &Stage) -> Result<Vec<ReceivedEventData>, Fault> {
    for body in texts(10) {
        stage.send_to("0", &[body]).await?;
    }
    stage.read("0", earliest(), 10).await
}

async fn starts_at(stage: &Stage, from: StartPosition, first: i64) -> Outcome {
    let events = stage.read("0", from, (10 - first) as usize).await?;
    equal(sequences(&events), (first..10).collect())
}

pub async fn start_at_earliest(stage: &Stage) -> Outcome {
    ten_events(stage).await?;
    starts_at(stage, earliest(), 0).await
}

pub async fn start_after_offset(stage: &Stage) -> Outcome {
    let events = ten_events(stage).await?;
    let offset = events[6].offset().clone().ok_or("no offset")?;
    let from = StartPosition {
        location: StartLocation::Offset(offset),
        inclusive: false,
    };
    starts_at(stage, from, 7).await
}

pub async fn start_at_sequence_number(stage: &Stage) -> Outcome {
    ten_events(stage).await?;
    let from = StartPosition {
        location: StartLocation::SequenceNumber(3),
        inclusive: true,
    };
    starts_at(stage, from, 3).await
}

pub async fn offset_beyond_the_end(stage: &Stage) -> Outcome {
    ten_events(stage).await?;
    let location = StartLocation::Offset("99999999".to_string());
    let found = stage
        .read(
            "0",
            StartPosition {
                location,
                inclusive: false,
            },
            1,
        )
        .await;
    refused(found, "The supplied offset '99999999' is invalid")
}

pub async fn hub_properties(stage: &Stage) -> Outcome {
    let producer = stage.producer(&stage.told.hub).await?;
    let told = producer.get_eventhub_properties().await?;
    producer.close().await?;
    let age = SystemTime::now().duration_since(told.created_on.ok_or("no time")?)?;
    if age > 60 * MINUTE {
        return Err(format!("it was made {age:?} ago").into());
    }
    equal(
        (told.name, told.partition_ids),
        (stage.told.hub.clone(), ids(2)),
    )
}

fn ids(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

pub async fn partition_ids(stage: &Stage) -> Outcome {
    let consumer = stage.consumer().await?;
    let told = consumer.get_eventhub_properties().await?;
    consumer.close().await?;
    equal(told.partition_ids, ids(12))
}

pub async fn properties_of_an_empty(stage: &Stage) -> Outcome {
    stage.send_to("1", &texts(1)).await?;
    let producer = stage.producer(&stage.told.hub).await?;
    let told = producer.get_partition_properties("0").await?;
    producer.close().await?;
    equal(
        (
            told.id,
            told.is_empty,
            told.last_enqueued_sequence_number,
            told.last_enqueued_offset,
        ),
        ("0".to_string(), true, -1, "-1".to_string()),
    )
}

pub async fn properties_of_a_partition(stage: &Stage) -> Outcome {
    stage.send_to("1", &texts(15)).await?;
    let producer = stage.producer(&stage.told.hub).await?;
    let told = producer.get_partition_properties("1").await?;
    producer.close().await?;
    let events = stage.read("1", earliest(), 15).await?;
    let last = events[14].offset().clone().ok_or("no offset")?;
    equal(
        (
            told.is_empty,
            told.last_enqueued_sequence_number,
            told.last_enqueued_offset,
        ),
        (false, 14, last),
    )?;
    equal(told.beginning_sequence_number, 0)
}

/// What a reader hears that has lost its partition, or is refused it.
async fn loss(outcome: Result<Vec<ReceivedEventData>, Fault>) -> Outcome {
    refused(outcome, "partition stolen")
}

pub async fn steals(stage: &Stage, first: i64, second: i64) -> Outcome {
    stage.send_to("0", &texts(1)).await?;
    let (ours, theirs) = (stage.consumer().await?, stage.consumer().await?);
    let owner = receiver(&ours, "0", earliest(), Some(first)).await?;
    take(&owner, 1).await?;
    let thief = receiver(&theirs, "0", earliest(), Some(second)).await?;
    take(&thief, 1).await?;
    loss(take(&owner, 1).await).await
}

pub async fn lower_level_is_refused(stage: &Stage) -> Outcome {
    stage.send_to("0", &texts(1)).await?;
    let (ours, theirs) = (stage.consumer().await?, stage.consumer().await?);
    let owner = receiver(&ours, "0", earliest(), Some(7)).await?;
    take(&owner, 1).await?;
    let late = match receiver(&theirs, "0", earliest(), Some(3)).await {
        Ok(late) => take(&late, 1).await,
        Err(error) => Err(error),
    };
    refused(late, "higher epoch '7'")?;
    stage.send_to("0", &[b"two".to_vec()]).await?;
    equal(bodies(&take(&owner, 1).await?), vec![b"two".to_vec()])
}

pub async fn unknown_hub(stage: &Stage) -> Outcome {
    let asked = async {
        let producer = stage.producer("nowhere").await?;
        producer.send_event(b"lost".to_vec(), None).await?;
        Ok(())
    };
    refused(asked.await, "ot")
}
