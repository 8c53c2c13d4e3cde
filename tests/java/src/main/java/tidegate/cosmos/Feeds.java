package tidegate.cosmos;

import static tidegate.cosmos.CosmosStage.check;
import static tidegate.cosmos.CosmosStage.checkEqual;
import static tidegate.cosmos.CosmosStage.ids;
import static tidegate.cosmos.CosmosStage.item;

import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The change feed, read without a processor. */
final class Feeds {
    private Feeds() {
    }

    static void addTo(Map<String, CosmosContract.Scenario> all) {
        all.put("the_feed_has_every_item_once", Feeds::everyItemOnce);
        all.put("each_range_has_a_feed_of_its_own", Feeds::eachRange);
        all.put("a_feed_goes_on_through_splits_and_a_merge", Feeds::splitsAndMerge);
        all.put("a_feed_from_now_has_what_comes_after", Feeds::fromNow);
        all.put("all_versions_and_deletes_are_told", Feeds::allVersions);
    }

    private static CosmosChangeFeedRequestOptions beginning(FeedRange range) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(range)
            .setMaxItemCount(7);
    }

    private static CosmosChangeFeedRequestOptions after(String continuation) {
        return CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation)
            .setMaxItemCount(7);
    }

    private static List<String> sorted(List<JsonNode> items) {
        return items.stream().map(each -> each.get("id").asText()).sorted().toList();
    }

    private static void everyItemOnce(CosmosStage stage) {
        stage.fill("a", 30);
        stage.container.upsertItem(item("a3", "h3").put("v", 2));
        List<JsonNode> items = new ArrayList<>();
        String continuation = stage.read(beginning(FeedRange.forFullRange()), items);
        checkEqual(sorted(items), ids("a", 30));
        items.clear();
        stage.fill("b", 5);
        stage.read(after(continuation), items);
        checkEqual(sorted(items), ids("b", 5));
    }

    private static void eachRange(CosmosStage stage) {
        stage.fill("a", 30);
        List<FeedRange> ranges = stage.container.getFeedRanges();
        checkEqual(ranges.size(), 2);
        List<JsonNode> items = new ArrayList<>();
        for (FeedRange range : ranges) {
            int before = items.size();
            stage.read(beginning(range), items);
            check(items.size() > before, "both ranges have items");
        }
        checkEqual(sorted(items), ids("a", 30));
    }

    private static void splitsAndMerge(CosmosStage stage) throws Exception {
        stage.fill("a", 20);
        List<JsonNode> items = new ArrayList<>();
        String continuation = stage.read(beginning(FeedRange.forFullRange()), items);
        stage.split("0");
        stage.split("1");
        stage.fill("b", 20);
        continuation = stage.read(after(continuation), items);
        stage.merge("2", "3");
        stage.fill("c", 20);
        stage.read(after(continuation), items);
        List<String> wanted = new ArrayList<>(ids("a", 20));
        wanted.addAll(ids("b", 20));
        wanted.addAll(ids("c", 20));
        checkEqual(sorted(items), wanted);
    }

    private static void fromNow(CosmosStage stage) {
        stage.fill("a", 10);
        List<JsonNode> items = new ArrayList<>();
        String continuation = stage.read(
            CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange()),
            items);
        checkEqual(items.size(), 0);
        stage.fill("b", 10);
        stage.read(after(continuation), items);
        checkEqual(sorted(items), ids("b", 10));
    }

    private static void allVersions(CosmosStage stage) {
        List<JsonNode> items = new ArrayList<>();
        String continuation = stage.read(
            CosmosChangeFeedRequestOptions.createForProcessingFromNow(FeedRange.forFullRange())
                .allVersionsAndDeletes(),
            items);
        stage.container.createItem(item("a", "h1").put("v", 1));
        stage.container.upsertItem(item("a", "h1").put("v", 2));
        stage.container.deleteItem("a", new PartitionKey("h1"), new CosmosItemRequestOptions());
        stage.read(after(continuation).allVersionsAndDeletes(), items);
        List<String> kinds = items.stream()
            .map(each -> each.get("metadata").get("operationType").asText())
            .toList();
        checkEqual(kinds, List.of("create", "replace", "delete"));
        checkEqual(items.get(1).get("current").get("v").asInt(), 2);
        checkEqual(items.get(1).get("previous").get("v").asInt(), 1);
    }
}
