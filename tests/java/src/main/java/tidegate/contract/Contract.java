package tidegate.contract;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs the scenarios of the Java client and prints one JSON line for each: name, ok, error, ms.
 *
 * <p>With `--list` it prints the names of all that are implemented. Else it reads JSON from its
 * standard input: {stages: {NAME: {connectionString, hub}}, keyPartitions: {KEY: ID}}, and plays
 * those, one after the other. A scenario throws to fail, and has a hub of its own.
 */
public final class Contract {
    /** What a scenario does with its stage. */
    interface Scenario {
        void play(Stage stage) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    private Contract() {
    }

    static Map<String, Scenario> implemented() {
        Map<String, Scenario> all = new LinkedHashMap<>();
        Sending.addTo(all);
        Buffering.addTo(all);
        Positions.addTo(all);
        Facts.addTo(all);
        Receiving.addTo(all);
        return all;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (arguments.length > 0 && arguments[0].equals("--list")) {
            out.println(JSON.writeValueAsString(implemented().keySet()));
            return;
        }
        JsonNode contract = JSON.readTree(System.in);
        for (Map.Entry<String, JsonNode> one : contract.get("stages").properties()) {
            out.println(JSON.writeValueAsString(
                outcome(one.getKey(), one.getValue(), contract.get("keyPartitions"))));
        }
        System.exit(0);
    }

    private static Map<String, Object> outcome(String name, JsonNode facts, JsonNode keys) {
        long begun = System.nanoTime();
        String error = null;
        try (Stage stage = new Stage(facts, keys)) {
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
        line.put("ms", (System.nanoTime() - begun) / 1_000_000);
        return line;
    }
}
