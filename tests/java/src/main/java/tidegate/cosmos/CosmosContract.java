package tidegate.cosmos;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs the scenarios of the Java client of Cosmos DB and prints one JSON line for each: name, ok,
 * error.
 *
 * <p>With `--list` it prints the names of all that are implemented. Else it reads JSON from its
 * standard input: {stages: {NAME: {endpoint, key, admin, database, container}}}, and plays those,
 * one after the other. A scenario throws to fail, and has a container of its own.
 */
public final class CosmosContract {
    /** What a scenario does with its stage. */
    interface Scenario {
        void play(CosmosStage stage) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    private CosmosContract() {
    }

    static Map<String, Scenario> implemented() {
        Map<String, Scenario> all = new LinkedHashMap<>();
        Items.addTo(all);
        Feeds.addTo(all);
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (arguments.length > 0 && arguments[0].equals("--list")) {
            out.println(JSON.writeValueAsString(implemented().keySet()));
            return;
        }
        JsonNode contract = JSON.readTree(System.in);
        for (Map.Entry<String, JsonNode> one : contract.get("stages").properties()) {
            out.println(JSON.writeValueAsString(outcome(one.getKey(), one.getValue())));
        }
        // The client's own threads outlive it for a while.
        Runtime.getRuntime().halt(0);
    }

    private static Map<String, Object> outcome(String name, JsonNode facts) {
        String error = null;
        try (CosmosStage stage = new CosmosStage(facts)) {
            implemented().get(name).play(stage);
        } catch (Exception | AssertionError thrown) {
            StringWriter words = new StringWriter();
            thrown.printStackTrace(new PrintWriter(words));
            error = words.toString();
        }
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("name", name);
        line.put("ok", error == null);
        line.put("error", error);
        return line;
    }
}
