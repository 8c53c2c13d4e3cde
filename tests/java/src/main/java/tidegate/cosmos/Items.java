package tidegate.cosmos;

import static tidegate.cosmos.CosmosStage.check;
import static tidegate.cosmos.CosmosStage.checkEqual;
import static tidegate.cosmos.CosmosStage.ids;
import static tidegate.cosmos.CosmosStage.item;
import static tidegate.cosmos.CosmosStage.refused;

import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;

/** Items and queries. */
final class Items {
    private Items() {
    }

    static void addTo(Map<String, CosmosContract.Scenario> all) {
        all.put("an_item_is_written_and_read", Items::writtenAndRead);
        all.put("an_old_etag_is_refused", Items::oldEtag);
        all.put("an_item_that_is_there_or_not_is_told_apart", Items::thereOrNot);
        all.put("a_query_finds_items_in_all_partitions", Items::queryAcross);
        all.put("a_query_of_one_partition_is_paged", Items::queryInOne);
        all.put("a_container_is_made_and_described", Items::containerMade);
        all.put("a_throttled_write_is_tried_again", Items::throttled);
        all.put("a_wrong_key_is_refused", Items::wrongKey);
        all.put("a_missing_container_is_not_found", Items::missingContainer);
    }

    private static void writtenAndRead(CosmosStage stage) {
        var made = stage.container.createItem(item("a", "h1").put("v", 1));
        check(made.getRequestCharge() > 0, "a write costs something");
        var again = stage.container.upsertItem(item("a", "h1").put("v", 2));
        checkEqual(again.getStatusCode(), 200);
        var read = stage.container.readItem("a", new PartitionKey("h1"), JsonNode.class);
        checkEqual(read.getItem().get("v").asInt(), 2);
        checkEqual(read.getETag(), again.getETag());
        check(!read.getETag().equals(made.getETag()), "another version has another ETag");
    }

    private static void oldEtag(CosmosStage stage) {
        var made = stage.container.createItem(item("a", "h1"));
        var options = new CosmosItemRequestOptions().setIfMatchETag(made.getETag());
        ObjectNode newer = item("a", "h1").put("v", 2);
        stage.container.replaceItem(newer, "a", new PartitionKey("h1"), options);
        refused(412, () -> stage.container.replaceItem(newer, "a", new PartitionKey("h1"), options));
        refused(412, () -> stage.container.deleteItem("a", new PartitionKey("h1"), options));
    }

    private static void thereOrNot(CosmosStage stage) {
        stage.container.createItem(item("a", "h1"));
        refused(409, () -> stage.container.createItem(item("a", "h1")));
        PartitionKey other = new PartitionKey("h2");
        refused(404, () -> stage.container.readItem("a", other, JsonNode.class));
        var options = new CosmosItemRequestOptions();
        stage.container.deleteItem("a", new PartitionKey("h1"), options);
        PartitionKey own = new PartitionKey("h1");
        refused(404, () -> stage.container.deleteItem("a", own, options));
    }

    private static List<String> found(
        CosmosStage stage, SqlQuerySpec query, CosmosQueryRequestOptions options) {
        return stage.container.queryItems(query, options, JsonNode.class).stream()
            .map(each -> each.get("id").asText())
            .sorted()
            .toList();
    }

    private static void queryAcross(CosmosStage stage) throws Exception {
        stage.fill("a", 20);
        stage.fill("b", 20);
        var query = new SqlQuerySpec(
            "SELECT * FROM c WHERE STARTSWITH(c.id, @word)", List.of(new SqlParameter("@word", "b")));
        checkEqual(found(stage, query, new CosmosQueryRequestOptions()), ids("b", 20));
        stage.split("0");
        checkEqual(found(stage, query, new CosmosQueryRequestOptions()), ids("b", 20));
        var first = new SqlQuerySpec("SELECT TOP 7 * FROM c");
        checkEqual(found(stage, first, new CosmosQueryRequestOptions()).size(), 7);
    }

    private static void queryInOne(CosmosStage stage) {
        for (String id : ids("a", 10)) {
            stage.container.createItem(item(id, "h1"));
            stage.container.createItem(item(id, "h2"));
        }
        var options = new CosmosQueryRequestOptions().setPartitionKey(new PartitionKey("h1"));
        int pages = 0;
        int items = 0;
        for (var page : stage.container.queryItems("SELECT * FROM c", options, JsonNode.class)
                .iterableByPage(3)) {
            pages++;
            items += page.getResults().size();
        }
        checkEqual(items, 10);
        check(pages >= 4, "a page has three items, and there were " + pages + " pages");
    }

    private static void containerMade(CosmosStage stage) {
        stage.client.createDatabaseIfNotExists("garden");
        var described = new CosmosContainerProperties("beds-" + System.nanoTime(), "/bed");
        described.setDefaultTimeToLiveInSeconds(-1);
        var database = stage.client.getDatabase("garden");
        database.createContainerIfNotExists(described);
        var told = database.getContainer(described.getId()).read().getProperties();
        checkEqual(told.getDefaultTimeToLiveInSeconds(), -1);
        checkEqual(told.getPartitionKeyDefinition().getPaths(), List.of("/bed"));
        database.getContainer(described.getId()).delete();
        refused(404, () -> database.getContainer(described.getId()).read());
    }

    private static void throttled(CosmosStage stage) throws Exception {
        stage.inject("{\"kind\": \"throttle\", \"times\": 3, \"parameters\": {\"retry_after_ms\": 5}}");
        stage.container.createItem(item("a", "h1"));
        stage.inject("{\"kind\": \"throttle\", \"parameters\": {\"retry_after_ms\": 5}}");
        var thrown = refused(429, () -> stage.container.createItem(item("b", "h1")));
        checkEqual(thrown.getSubStatusCode(), 3200);
    }

    private static void wrongKey(CosmosStage stage) {
        try (CosmosClient client = stage.clientWithKey("d3Jvbmc=")) {
            client.getDatabase("home").read();
        } catch (RuntimeException thrown) {
            // A client that cannot even be made wraps the reason.
            Throwable reason = thrown instanceof CosmosException ? thrown : thrown.getCause();
            check(reason instanceof CosmosException, thrown);
            checkEqual(((CosmosException) reason).getStatusCode(), 401);
            return;
        }
        throw new AssertionError("it was not refused");
    }

    private static void missingContainer(CosmosStage stage) {
        var nothing = stage.client.getDatabase("home").getContainer("nothing");
        refused(404, () -> nothing.createItem(item("a", "h1")));
    }
}
