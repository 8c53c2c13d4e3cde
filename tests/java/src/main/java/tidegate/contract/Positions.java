package tidegate.contract;

import static tidegate.contract.Stage.check;
import static tidegate.contract.Stage.checkEqual;

import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.models.EventPosition;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/** Scenarios: where a reader starts. */
final class Positions {
    private Positions() {
    }

    static void addTo(Map<String, Contract.Scenario> all) {
        all.put("start_at_earliest", stage -> {
            tenEvents(stage);
            assertStartsWith(stage, EventPosition.earliest(), 0);
        });
        all.put("start_after_offset", stage -> {
            String offset = tenEvents(stage).get(6).getOffsetString();
            assertStartsWith(stage, EventPosition.fromOffsetString(offset), 7);
        });
        all.put("start_after_sequence_number", stage -> {
            tenEvents(stage);
            assertStartsWith(stage, EventPosition.fromSequenceNumber(3), 4);
        });
        all.put("start_at_sequence_number", stage -> {
            tenEvents(stage);
            assertStartsWith(stage, EventPosition.fromSequenceNumber(3, true), 3);
        });
        all.put("start_after_enqueued_time", Positions::startAfterEnqueuedTime);
        all.put("start_at_enqueued_time", Positions::startAtEnqueuedTime);
        all.put("offset_beyond_the_end_is_refused", Positions::offsetBeyondTheEnd);
    }

    /** Ten events in partition 0, appended in ten calls, as the hub stamped them. */
    private static List<EventData> tenEvents(Stage stage) throws Exception {
        for (EventData event : Stage.texts(10, "event")) {
            stage.sendTo("0", List.of(event));
        }
        try (Reader reader = stage.read("0", EventPosition.earliest())) {
            return reader.take(10);
        }
    }

    private static void assertStartsWith(Stage stage, EventPosition start, long first)
        throws Exception {
        try (Reader reader = stage.read("0", start)) {
            reader.take((int) (10 - first));
            checkEqual(reader.sequences(), LongStream.range(first, 10).boxed().toList());
        }
    }

    /** Events are sent until the hub's clock has passed the tenth event's millisecond. */
    private static void startAfterEnqueuedTime(Stage stage) throws Exception {
        Instant last = tenEvents(stage).get(9).getEnqueuedTime();
        Instant now = last;
        while (!now.isAfter(last)) {
            stage.sendTo("0", Stage.texts(1, "later"));
            now = stage.producer.getPartitionProperties("0").getLastEnqueuedTime();
        }
        try (Reader reader = stage.read("0", EventPosition.fromEnqueuedTime(last))) {
            EventData first = reader.take(1).get(0);
            check(first.getEnqueuedTime().isAfter(last), first.getEnqueuedTime());
            checkEqual(first.getBodyAsString(), "later-0");
        }
    }

    /** This SDK has no inclusive time: the millisecond before says it. */
    private static void startAtEnqueuedTime(Stage stage) throws Exception {
        List<Instant> times = tenEvents(stage).stream().map(EventData::getEnqueuedTime).toList();
        Instant before = times.get(6).minusMillis(1);
        int first = times.indexOf(times.get(6));
        assertStartsWith(stage, EventPosition.fromEnqueuedTime(before), first);
    }

    private static void offsetBeyondTheEnd(Stage stage) throws Exception {
        tenEvents(stage);
        try (Reader reader = stage.read("0", EventPosition.fromOffsetString("99999999"))) {
            String words = reader.error().getMessage();
            check(words.contains("The supplied offset '99999999' is invalid"), words);
        }
    }
}
