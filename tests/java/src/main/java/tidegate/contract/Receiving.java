package tidegate.contract;

import static tidegate.contract.Stage.check;
import static tidegate.contract.Stage.checkEqual;

import com.azure.core.amqp.exception.AmqpErrorCondition;
import com.azure.core.amqp.exception.AmqpException;
import com.azure.messaging.eventhubs.EventHubProducerClient;
import com.azure.messaging.eventhubs.models.EventPosition;
import java.util.List;
import java.util.Map;

/** Scenarios: who may read. */
final class Receiving {
    private Receiving() {
    }

    static void addTo(Map<String, Contract.Scenario> all) {
        all.put("higher_owner_level_steals", stage -> steals(stage, 1, 2));
        all.put("equal_owner_level_steals", stage -> steals(stage, 7, 7));
        all.put("lower_owner_level_is_refused", Receiving::lowerLevelIsRefused);
        all.put("unknown_hub_is_refused", Receiving::unknownHub);
    }

    private static void steals(Stage stage, long firstLevel, long secondLevel) throws Exception {
        stage.sendTo("0", Stage.texts(3, "event"));
        EventPosition start = EventPosition.earliest();
        try (Reader first = stage.read("0", start, firstLevel)) {
            first.take(3);
            try (Reader second = stage.read("0", start, secondLevel)) {
                second.take(3);
                assertStolen(first.error());
            }
        }
    }

    /** The owner of level 2 keeps reading while the other is refused. */
    private static void lowerLevelIsRefused(Stage stage) throws Exception {
        stage.sendTo("0", Stage.texts(3, "event"));
        EventPosition start = EventPosition.earliest();
        try (Reader owner = stage.read("0", start, 2L)) {
            owner.take(3);
            try (Reader other = stage.read("0", start, 1L)) {
                assertStolen(other.error());
                checkEqual(other.bodies(), List.of());
            }
            stage.sendTo("0", Stage.texts(1, "more"));
            owner.take(4);
        }
    }

    private static void assertStolen(Throwable error) {
        check(error instanceof AmqpException, error);
        AmqpErrorCondition condition = ((AmqpException) error).getErrorCondition();
        checkEqual(condition, AmqpErrorCondition.LINK_STOLEN);
    }

    private static void unknownHub(Stage stage) {
        try (EventHubProducerClient other = stage.builder("no-such-hub").buildProducerClient()) {
            other.getEventHubProperties();
            throw new AssertionError("a hub that is not there told its properties");
        } catch (AmqpException error) {
            checkEqual(error.getErrorCondition(), AmqpErrorCondition.NOT_FOUND);
        }
    }
}
