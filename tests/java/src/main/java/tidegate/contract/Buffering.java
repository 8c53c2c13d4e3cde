package tidegate.contract;

import static tidegate.contract.Stage.checkEqual;

import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubBufferedProducerClient;
import com.azure.messaging.eventhubs.EventHubBufferedProducerClientBuilder;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.SendOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Scenarios: the producer that gathers events by itself. */
final class Buffering {
    private static final int EVENTS = 600;
    private static final int KEYS = 100;
    private static final int LIMIT_SECONDS = 60;

    private Buffering() {
    }

    static void addTo(Map<String, Contract.Scenario> all) {
        all.put("a_buffered_producer_sends_by_key", Buffering::sendsByKey);
    }

    /** Every event arrives once, the events of a key in order and in one partition. */
    private static void sendsByKey(Stage stage) throws Exception {
        Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        EventHubBufferedProducerClient producer = new EventHubBufferedProducerClientBuilder()
            .connectionString(stage.connectionString, stage.hub)
            .maxWaitTime(Duration.ofMillis(200))
            .onSendBatchSucceeded(batch -> { })
            .onSendBatchFailed(batch -> failures.add(batch.getThrowable()))
            .buildClient();
        // Its calls have no limit of their own.
        ExecutorService sender = Executors.newSingleThreadExecutor();
        sender.submit(() -> send(producer)).get(LIMIT_SECONDS, TimeUnit.SECONDS);
        sender.shutdown();
        checkEqual(List.copyOf(failures), List.of());
        Map<String, List<String>> found = new LinkedHashMap<>();
        int left = EVENTS;
        for (String partition : stage.producer.getPartitionIds()) {
            long last = stage.producer.getPartitionProperties(partition)
                .getLastEnqueuedSequenceNumber();
            left -= (int) last + 1;
            try (Reader reader = stage.read(partition, EventPosition.earliest())) {
                for (EventData event : reader.take((int) last + 1)) {
                    found.computeIfAbsent(event.getPartitionKey() + " in " + partition,
                        key -> new ArrayList<>()).add(event.getBodyAsString());
                }
            }
        }
        checkEqual(left, 0);
        checkEqual(found.size(), KEYS);
        for (Map.Entry<String, List<String>> one : found.entrySet()) {
            int key = Integer.parseInt(one.getKey().split("[- ]")[1]);
            List<String> wanted = new ArrayList<>();
            for (int number = key; number < EVENTS; number += KEYS) {
                wanted.add("event-" + number);
            }
            checkEqual(one.getValue(), wanted);
        }
    }

    private static void send(EventHubBufferedProducerClient producer) {
        for (int number = 0; number < EVENTS; number++) {
            producer.enqueueEvent(new EventData("event-" + number),
                new SendOptions().setPartitionKey("home-" + number % KEYS));
        }
        producer.flush();
        producer.close();
    }
}
