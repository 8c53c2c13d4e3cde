//! What a scenario is given: a hub of its own, and clients on demand.

use azure_messaging_eventhubs::models::{AmqpTransport, ReceivedEventData};
use azure_messaging_eventhubs::{
    ConsumerClient, EventDataBatchOptions, EventReceiver, OpenReceiverOptions, ProducerClient,
    RetryOptions, StartLocation, StartPosition,
};
use futures::StreamExt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;

pub type Fault = Box<dyn Error + Send + Sync>;
pub type Outcome = Result<(), Fault>;

/// How long an event may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long nothing more comes before that is believed.
const QUIET: Duration = Duration::from_millis(200);

/// What the tests say of a stage.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    pub scenario: String,
    pub connection_string: String,
    pub endpoint: String,
    pub hub: String,
    pub web_sockets: bool,
}

pub struct Stage {
    pub told: Told,
    pub key_partitions: BTreeMap<String, String>,
}

/// The SDK retries as little as it lets itself be told, so that the first error is the one seen.
fn once() -> RetryOptions {
    RetryOptions {
        max_retries: 0,
        ..Default::default()
    }
}

impl Stage {
    fn transport(&self) -> AmqpTransport {
        if self.told.web_sockets {
            AmqpTransport::WebSocket
        } else {
            AmqpTransport::Tcp
        }
    }

    pub async fn producer(&self, hub: &str) -> Result<ProducerClient, Fault> {
        Ok(ProducerClient::builder()
            .with_transport(self.transport())
            .with_custom_endpoint(self.told.endpoint.clone())
            .with_retry_options(once())
            .open_with_connection_string(&self.told.connection_string, Some(hub))
            .await?)
    }

    pub async fn consumer(&self) -> Result<ConsumerClient, Fault> {
        Ok(ConsumerClient::builder()
            .with_transport(self.transport())
            .with_custom_endpoint(self.told.endpoint.clone())
            .with_retry_options(once())
            .open_with_connection_string(&self.told.connection_string, Some(&self.told.hub))
            .await?)
    }

    /// Sends events to a partition, in one batch.
    pub async fn send_to(&self, partition: &str, bodies: &[Vec<u8>]) -> Outcome {
        let to = EventDataBatchOptions {
            partition_id: Some(partition.to_string()),
            ..Default::default()
        };
        self.send(to, bodies).await
    }

    pub async fn send(&self, to: EventDataBatchOptions, bodies: &[Vec<u8>]) -> Outcome {
        let producer = self.producer(&self.told.hub).await?;
        let batch = producer.create_batch(Some(to)).await?;
        for body in bodies {
            if !batch.try_add_event_data(body.clone(), None)? {
                return Err("the batch is full".into());
            }
        }
        producer.send_batch(batch, None).await?;
        Ok(producer.close().await?)
    }

    /// So many events of a partition from a position on, and none more.
    pub async fn read(
        &self,
        partition: &str,
        from: StartPosition,
        count: usize,
    ) -> Result<Vec<ReceivedEventData>, Fault> {
        let consumer = self.consumer().await?;
        let receiver = receiver(&consumer, partition, from, None).await?;
        let events = take(&receiver, count).await?;
        receiver.close().await?;
        consumer.close().await?;
        Ok(events)
    }
}

pub async fn receiver(
    consumer: &ConsumerClient,
    partition: &str,
    from: StartPosition,
    owner_level: Option<i64>,
) -> Result<EventReceiver, Fault> {
    let options = OpenReceiverOptions {
        owner_level,
        start_position: Some(from),
        ..Default::default()
    };
    Ok(consumer
        .open_receiver_on_partition(partition.to_string(), Some(options))
        .await?)
}

pub async fn take(receiver: &EventReceiver, count: usize) -> Result<Vec<ReceivedEventData>, Fault> {
    let mut stream = receiver.stream_events();
    let mut events = Vec::new();
    while events.len() < count {
        let next = tokio::time::timeout(PATIENCE, stream.next()).await;
        let Ok(Some(event)) = next else {
            return Err(format!("{} of {count} events came", events.len()).into());
        };
        events.push(event?);
    }
    match tokio::time::timeout(QUIET, stream.next()).await {
        Err(_) => Ok(events),
        Ok(Some(Err(error))) => Err(error.into()),
        Ok(_) => Err("one more event came, or the stream ended".into()),
    }
}

pub fn earliest() -> StartPosition {
    StartPosition {
        location: StartLocation::Earliest,
        inclusive: false,
    }
}

pub fn texts(count: usize) -> Vec<Vec<u8>> {
    (0..count)
        .map(|number| format!("event-{number}").into_bytes())
        .collect()
}

pub fn bodies(events: &[ReceivedEventData]) -> Vec<Vec<u8>> {
    events
        .iter()
        .map(|event| event.event_data().body().unwrap_or_default().to_vec())
        .collect()
}

pub fn sequences(events: &[ReceivedEventData]) -> Vec<i64> {
    events
        .iter()
        .map(|event| event.sequence_number().unwrap_or(-2))
        .collect()
}

pub fn equal<T: PartialEq + Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted {
        return Ok(());
    }
    Err(format!("found {found:?}, wanted {wanted:?}").into())
}

/// Checks that there is an error, and that it says these words.
pub fn refused<T>(outcome: Result<T, Fault>, words: &str) -> Outcome {
    match outcome {
        Ok(_) => Err(format!("nothing was refused, wanted {words:?}").into()),
        Err(error) if format!("{error} {error:?}").contains(words) => Ok(()),
        Err(error) => Err(format!("refused, but not with {words:?}: {error} {error:?}").into()),
    }
}
