package tidegate.contract;

import com.azure.core.amqp.AmqpRetryOptions;
import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubClientBuilder;
import com.azure.messaging.eventhubs.EventHubProducerClient;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.ReceiveOptions;
import com.azure.messaging.eventhubs.models.SendOptions;
import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** What a scenario is given: a hub of its own, a producer, and readers on demand. */
final class Stage implements AutoCloseable {
    final String hub;
    final Map<String, String> keyPartitions = new LinkedHashMap<>();
    final EventHubProducerClient producer;
    final String connectionString;

    Stage(JsonNode facts, JsonNode keys) {
        hub = facts.get("hub").asText();
        connectionString = facts.get("connectionString").asText();
        keys.properties().forEach(key -> keyPartitions.put(key.getKey(), key.getValue().asText()));
        producer = builder(hub).buildProducerClient();
    }

    /** The SDK retries nothing, so the first error that the hub gives is the one that is seen. */
    EventHubClientBuilder builder(String hubName) {
        return new EventHubClientBuilder()
            .connectionString(connectionString, hubName)
            .consumerGroup(EventHubClientBuilder.DEFAULT_CONSUMER_GROUP_NAME)
            .retryOptions(new AmqpRetryOptions()
                .setMaxRetries(0)
                .setTryTimeout(Duration.ofSeconds(20)));
    }

    Reader read(String partition, EventPosition start) {
        return read(partition, start, null);
    }

    /** A reader with a client of its own, as owner levels are about clients. */
    Reader read(String partition, EventPosition start, Long ownerLevel) {
        ReceiveOptions options = new ReceiveOptions().setOwnerLevel(ownerLevel);
        return new Reader(builder(hub).buildAsyncConsumerClient(), partition, start, options);
    }

    void sendTo(String partition, Iterable<EventData> events) {
        producer.send(events, new SendOptions().setPartitionId(partition));
    }

    static List<EventData> texts(int count, String word) {
        return IntStream.range(0, count)
            .mapToObj(number -> new EventData(word + "-" + number))
            .toList();
    }

    static void check(boolean holds, Object otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    static void checkEqual(Object found, Object wanted) {
        check(wanted.equals(found), "found " + found + ", wanted " + wanted);
    }

    @Override
    public void close() {
        producer.close();
    }
}
