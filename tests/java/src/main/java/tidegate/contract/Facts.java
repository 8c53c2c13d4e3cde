package tidegate.contract;

import static tidegate.contract.Stage.check;
import static tidegate.contract.Stage.checkEqual;

import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubProperties;
import com.azure.messaging.eventhubs.PartitionProperties;
import com.azure.messaging.eventhubs.models.EventPosition;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Scenarios: what the hub tells about itself. */
final class Facts {
    private Facts() {
    }

    static void addTo(Map<String, Contract.Scenario> all) {
        all.put("hub_properties", Facts::hubProperties);
        all.put("partition_ids", stage -> checkEqual(
            stage.producer.getPartitionIds().stream().toList(),
            IntStream.range(0, 12).mapToObj(String::valueOf).toList()));
        all.put("properties_of_an_empty_partition", Facts::emptyPartition);
        all.put("properties_of_a_partition", Facts::partition);
    }

    private static void hubProperties(Stage stage) {
        EventHubProperties told = stage.producer.getEventHubProperties();
        checkEqual(told.getName(), stage.hub);
        checkEqual(told.getPartitionIds().stream().toList(), List.of("0", "1"));
        Duration age = Duration.between(told.getCreatedAt(), Instant.now()).abs();
        check(age.compareTo(Duration.ofMinutes(10)) < 0, told.getCreatedAt());
    }

    private static void emptyPartition(Stage stage) {
        PartitionProperties told = stage.producer.getPartitionProperties("0");
        check(told.isEmpty(), "it says that it is not empty");
        checkEqual(told.getLastEnqueuedSequenceNumber(), -1L);
        checkEqual(told.getLastEnqueuedOffset(), "-1");
    }

    private static void partition(Stage stage) throws Exception {
        stage.sendTo("1", Stage.texts(5, "event"));
        PartitionProperties told = stage.producer.getPartitionProperties("1");
        try (Reader reader = stage.read("1", EventPosition.earliest())) {
            EventData last = reader.take(5).get(4);
            check(!told.isEmpty(), "it says that it is empty");
            checkEqual(told.getEventHubName(), stage.hub);
            checkEqual(told.getBeginningSequenceNumber(), 0L);
            checkEqual(told.getLastEnqueuedSequenceNumber(), last.getSequenceNumber());
            checkEqual(told.getLastEnqueuedOffset(), last.getOffsetString());
            checkEqual(told.getLastEnqueuedTime(), last.getEnqueuedTime());
        }
    }
}
