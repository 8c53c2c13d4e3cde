package tidegate.contract;

import static tidegate.contract.Stage.check;
import static tidegate.contract.Stage.checkEqual;

import com.azure.core.amqp.exception.AmqpErrorCondition;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventDataBatch;
import com.azure.messaging.eventhubs.models.CreateBatchOptions;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.SendOptions;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Scenarios: sending, and where what was sent arrives. */
final class Sending {
    private static final int HUB_LIMIT_BYTES = 1_048_576;

    private Sending() {
    }

    static void addTo(Map<String, Contract.Scenario> all) {
        all.put("send_one", Sending::sendOne);
        all.put("send_many", Sending::sendMany);
        all.put("batch_keeps_its_size_limit", Sending::batchKeepsItsSizeLimit);
        all.put("link_tells_the_size_limit", stage ->
            checkEqual(stage.producer.createBatch().getMaxSizeInBytes(), HUB_LIMIT_BYTES));
        all.put("too_large_is_refused", Sending::tooLargeIsRefused);
        all.put("partition_key_picks_the_partition", Sending::keyPicksThePartition);
    }

    private static void sendOne(Stage stage) throws Exception {
        stage.sendTo("0", List.of(new EventData("hello")));
        try (Reader reader = stage.read("0", EventPosition.earliest())) {
            EventData event = reader.take(1).get(0);
            checkEqual(event.getBodyAsString(), "hello");
            checkEqual(event.getSequenceNumber(), 0L);
            checkEqual(event.getOffsetString(), "0");
            Duration age = Duration.between(event.getEnqueuedTime(), Instant.now()).abs();
            check(age.compareTo(Duration.ofMinutes(1)) < 0, event.getEnqueuedTime());
        }
    }

    private static void sendMany(Stage stage) throws Exception {
        stage.sendTo("1", Stage.texts(500, "event"));
        try (Reader reader = stage.read("1", EventPosition.earliest())) {
            reader.take(500);
            checkEqual(reader.bodies(),
                IntStream.range(0, 500).mapToObj(number -> "event-" + number).toList());
        }
    }

    private static void batchKeepsItsSizeLimit(Stage stage) throws Exception {
        EventDataBatch batch = stage.producer.createBatch(
            new CreateBatchOptions().setPartitionId("0").setMaximumSizeInBytes(4096));
        int taken = 0;
        while (batch.tryAdd(new EventData(String.format("%0100d", taken)))) {
            taken += 1;
        }
        check(taken > 20 && taken < 40, taken + " events fitted");
        stage.producer.send(batch);
        try (Reader reader = stage.read("0", EventPosition.earliest())) {
            reader.take(taken);
            checkEqual(reader.bodies().stream().map(Integer::valueOf).toList(),
                IntStream.range(0, taken).boxed().toList());
        }
    }

    private static void tooLargeIsRefused(Stage stage) throws Exception {
        EventData large = new EventData("x".repeat(HUB_LIMIT_BYTES + 1));
        try {
            stage.sendTo("0", List.of(large));
            throw new AssertionError("an event above the limit was taken");
        } catch (AmqpException error) {
            checkEqual(error.getErrorCondition(), AmqpErrorCondition.LINK_PAYLOAD_SIZE_EXCEEDED);
        }
        stage.sendTo("0", Stage.texts(1, "small"));
        try (Reader reader = stage.read("0", EventPosition.earliest())) {
            reader.take(1);
            checkEqual(reader.bodies(), List.of("small-0"));
        }
    }

    private static void keyPicksThePartition(Stage stage) throws Exception {
        for (String key : stage.keyPartitions.keySet()) {
            SendOptions to = new SendOptions().setPartitionKey(key);
            stage.producer.send(List.of(new EventData(key), new EventData(key)), to);
        }
        for (String partition : List.copyOf(stage.keyPartitions.values())) {
            List<String> keys = stage.keyPartitions.entrySet().stream()
                .filter(one -> one.getValue().equals(partition))
                .flatMap(one -> Collections.nCopies(2, one.getKey()).stream())
                .toList();
            try (Reader reader = stage.read(partition, EventPosition.earliest())) {
                List<EventData> events = reader.take(keys.size());
                checkEqual(reader.bodies(), keys);
                checkEqual(events.stream().map(EventData::getPartitionKey).toList(), keys);
            }
        }
    }
}
