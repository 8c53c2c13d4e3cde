package tidegate.cosmos;

import com.azure.cosmos.ConsistencyLevel;
import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.ThrottlingRetryOptions;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.FeedResponse;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What a scenario is given: a container of its own, a client, and the server's admin API. */
final class CosmosStage implements AutoCloseable {
    static final ObjectMapper JSON = new ObjectMapper();

    final CosmosClient client;
    final CosmosContainer container;
    private final JsonNode facts;

    CosmosStage(JsonNode facts) {
        this.facts = facts;
        client = clientWithKey(facts.get("key").asText());
        container = client.getDatabase(facts.get("database").asText())
            .getContainer(facts.get("container").asText());
    }

    CosmosClient clientWithKey(String key) {
        return new CosmosClientBuilder()
            .endpoint(facts.get("endpoint").asText())
            .key(key)
            .gatewayMode()
            .consistencyLevel(ConsistencyLevel.SESSION)
            .contentResponseOnWriteEnabled(true)
            .throttlingRetryOptions(new ThrottlingRetryOptions()
                .setMaxRetryAttemptsOnThrottledRequests(5)
                .setMaxRetryWaitTime(Duration.ofSeconds(5)))
            .buildClient();
    }

    static ObjectNode item(String id, String home) {
        return JSON.createObjectNode().put("id", id).put("home", home);
    }

    /** Items of so many partition keys, with ids that begin with a word. */
    void fill(String word, int count) {
        for (int number = 0; number < count; number++) {
            container.upsertItem(item(word + number, "h" + number));
        }
    }

    static List<String> ids(String word, int count) {
        List<String> ids = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            ids.add(word + number);
        }
        ids.sort(null);
        return ids;
    }

    /** Reads a feed to its end; gives where to go on. What it finds is added to the items. */
    String read(CosmosChangeFeedRequestOptions options, List<JsonNode> items) {
        String continuation = null;
        for (FeedResponse<JsonNode> page
                : container.queryChangeFeed(options, JsonNode.class).iterableByPage()) {
            items.addAll(page.getResults());
            continuation = page.getContinuationToken();
            if (page.getResults().isEmpty()) {
                break;
            }
        }
        return continuation;
    }

    /** Asks the admin API of the server; gives what it answers. */
    JsonNode admin(String path, String body) throws Exception {
        HttpRequest request = HttpRequest
            .newBuilder(URI.create(facts.get("admin").asText() + path))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer =
            HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        check(answer.statusCode() < 300, path + ": " + answer.body());
        return JSON.readTree(answer.body());
    }

    private String place() {
        return "/api/v1/containers/" + facts.get("database").asText() + "/"
            + facts.get("container").asText();
    }

    JsonNode split(String range) throws Exception {
        return admin(place() + "/ranges/" + range + "/split", "{}");
    }

    void merge(String first, String second) throws Exception {
        admin(place() + "/merge", "{\"ranges\": [\"" + first + "\", \"" + second + "\"]}");
    }

    void inject(String fault) throws Exception {
        ObjectNode described = (ObjectNode) JSON.readTree(fault);
        described.put("container", facts.get("container").asText());
        admin("/api/v1/faults", described.toString());
    }

    /** What is done must be refused so. */
    static CosmosException refused(int status, Runnable done) {
        try {
            done.run();
        } catch (CosmosException thrown) {
            checkEqual(thrown.getStatusCode(), status);
            return thrown;
        }
        throw new AssertionError("it was not refused");
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
        client.close();
    }
}
