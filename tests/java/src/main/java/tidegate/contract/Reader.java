package tidegate.contract;

import com.azure.messaging.eventhubs.EventData;
import com.azure.messaging.eventhubs.EventHubConsumerAsyncClient;
import com.azure.messaging.eventhubs.models.EventPosition;
import com.azure.messaging.eventhubs.models.ReceiveOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import reactor.core.Disposable;

/** Reads a partition in the background from its making to its close, and keeps what it is told. */
final class Reader implements AutoCloseable {
    private static final long PATIENCE_MS = 20_000;

    private final EventHubConsumerAsyncClient client;
    private final Disposable subscription;
    private final List<EventData> events = new ArrayList<>();
    private Throwable error;

    Reader(EventHubConsumerAsyncClient client, String partition, EventPosition start,
        ReceiveOptions options) {
        this.client = client;
        subscription = client.receiveFromPartition(partition, start, options)
            .subscribe(event -> took(event.getData()), this::failed);
    }

    private synchronized void took(EventData event) {
        events.add(event);
        notifyAll();
    }

    private synchronized void failed(Throwable reason) {
        error = reason;
        notifyAll();
    }

    /** Awaits that many events; an error that comes instead fails the scenario at once. */
    synchronized List<EventData> take(int count) throws InterruptedException {
        await(() -> error != null || events.size() >= count);
        if (error != null) {
            throw new AssertionError("the reader failed", error);
        }
        Stage.check(events.size() >= count, events.size() + " events came, not " + count);
        return List.copyOf(events);
    }

    synchronized Throwable error() throws InterruptedException {
        await(() -> error != null);
        Stage.check(error != null, events.size() + " events came, and no error");
        return error;
    }

    synchronized List<Long> sequences() {
        return events.stream().map(EventData::getSequenceNumber).toList();
    }

    synchronized List<String> bodies() {
        return events.stream().map(EventData::getBodyAsString).collect(Collectors.toList());
    }

    private void await(BooleanSupplier isOver) throws InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        for (long left = PATIENCE_MS; left > 0 && !isOver.getAsBoolean();
            left = deadline - System.currentTimeMillis()) {
            wait(left);
        }
    }

    @Override
    public void close() {
        subscription.dispose();
        client.close();
    }
}
