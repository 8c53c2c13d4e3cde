package tidegate.sharing;

import com.azure.cosmos.ChangeFeedProcessor;
import com.azure.cosmos.ChangeFeedProcessorBuilder;
import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosAsyncClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.models.ChangeFeedProcessorItem;
import com.azure.cosmos.models.ChangeFeedProcessorOptions;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/**
 * One host of the SDK's own change feed processor. It is told on standard input, in one line of
 * JSON, where to read; it says "started", then "item N" for the number of each item that it was
 * given, and it stops cleanly when standard input ends.
 */
public final class FeedHost {
    private FeedHost() {}

    public static void main(String[] arguments) throws Exception {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
        byte[] line = readLine();
        JsonNode told = new ObjectMapper().readTree(line);
        CosmosAsyncClient client =
                new CosmosClientBuilder()
                        .endpoint(told.get("endpoint").asText())
                        .key(told.get("key").asText())
                        .gatewayMode()
                        .endpointDiscoveryEnabled(false)
                        .consistencyLevel(ConsistencyLevel.SESSION)
                        .contentResponseOnWriteEnabled(true)
                        .buildAsyncClient();
        var database = client.getDatabase(told.get("database").asText());
        ChangeFeedProcessorBuilder builder =
                new ChangeFeedProcessorBuilder()
                        .hostName(told.get("host").asText())
                        .feedContainer(database.getContainer(told.get("monitored").asText()))
                        .leaseContainer(database.getContainer(told.get("leases").asText()))
                        .options(options(told));
        if (told.get("byRange").asBoolean()) {
            Consumer<List<ChangeFeedProcessorItem>> given =
                    items -> items.forEach(item -> say(item.getCurrent()));
            builder.handleLatestVersionChanges(given);
        } else {
            Consumer<List<JsonNode>> given = items -> items.forEach(FeedHost::say);
            builder.handleChanges(given);
        }
        ChangeFeedProcessor processor = builder.buildChangeFeedProcessor();
        processor.start().block();
        System.out.println("started");
        while (System.in.read() >= 0) {}
        processor.stop().block();
        System.out.println("stopped");
        System.out.flush();
        // The client's own threads outlive it for a while.
        Runtime.getRuntime().halt(0);
    }

    private static ChangeFeedProcessorOptions options(JsonNode told) {
        ChangeFeedProcessorOptions options = new ChangeFeedProcessorOptions();
        options.setStartFromBeginning(true);
        options.setLeasePrefix(told.get("prefix").asText());
        options.setMaxItemCount(told.get("pageItems").asInt());
        options.setFeedPollDelay(Duration.ofMillis(told.get("pollMs").asLong()));
        options.setLeaseAcquireInterval(Duration.ofMillis(told.get("acquireMs").asLong()));
        options.setLeaseRenewInterval(Duration.ofMillis(told.get("renewMs").asLong()));
        options.setLeaseExpirationInterval(Duration.ofMillis(told.get("expiryMs").asLong()));
        return options;
    }

    private static synchronized void say(JsonNode item) {
        System.out.println("item " + item.get("number").asLong());
        System.out.flush();
    }

    private static byte[] readLine() throws java.io.IOException {
        var line = new java.io.ByteArrayOutputStream();
        for (int read = System.in.read(); read >= 0 && read != '\n'; read = System.in.read()) {
            line.write(read);
        }
        return line.toByteArray();
    }
}
