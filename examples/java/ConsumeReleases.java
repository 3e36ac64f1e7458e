import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Follows landmark.releases in a consumer group and prints one line a release. Needs Java 17, kafka-clients and
 * jackson-databind.
 *
 * <pre>java -cp 'jars/*' ConsumeReleases.java [BOOTSTRAP [TOPIC [GROUP]]]</pre>
 *
 * Each release is handled at least once: offsets are committed when their releases have been handled. After a crash the
 * last ones come again, so let what you store them in be keyed by series and timestamp, which are unique.
 *
 * <p>Members that this file does not know are ignored. A release whose decision or value it does not know becomes
 * {@link Unknown}: count it, show it, but take no number from it.
 */
public final class ConsumeReleases {
    /** What is published: a number, counts by key, a position in degrees, numbers by part, or a category. */
    sealed interface Value permits NumberValue, CountsValue, LocationValue, VectorValue, CategoryValue {}

    record NumberValue(double number) implements Value {}

    record CountsValue(Map<String, Long> counts) implements Value {}

    record LocationValue(double latitude, double longitude) implements Value {}

    /** The parts of a vector, or what a mean was made of. */
    record VectorValue(Map<String, Double> parts) implements Value {}

    /** Booleans by name. */
    record CategoryValue(String category) implements Value {}

    /** One step of a series; the timestamp is the step's start. */
    sealed interface Release permits Perturbed, Approximated, Withheld, Unknown {
        String series();

        Instant timestamp();
    }

    /** A fresh measurement. {@code value} is the estimate, what to use; {@code measurement} the mechanism's output. */
    record Perturbed(
            String series, Instant timestamp, long policy, Value value, Value measurement, Value scale, long epsilonNano)
            implements Release {}

    /** The estimate of the earlier step {@code source} again: no new information. */
    record Approximated(String series, Instant timestamp, long policy, Value value, Instant source)
            implements Release {}

    /** The step had an event; nothing more is said. */
    record Withheld(String series, Instant timestamp, long policy) implements Release {}

    /** A decision or a kind of value that is younger than this file. */
    record Unknown(String series, Instant timestamp, String decision) implements Release {}

    private static final ObjectMapper JSON = new ObjectMapper();

    private ConsumeReleases() {}

    /** Returns the release that a record's value holds. */
    static Release parse(byte[] record) throws IOException {
        JsonNode found = JSON.readTree(record);
        String series = found.required("series").textValue();
        Instant timestamp = Instant.ofEpochMilli(found.required("timestamp").longValue());
        String decision = found.required("decision").textValue();
        long policy = found.path("policy").longValue();
        Value value = value(found.path("value"));
        Value measurement = value(found.path("measurement"));
        if (decision.equals("perturbed") && value != null && measurement != null) {
            Value scale = value(found.required("scale"));
            long epsilonNano = found.required("epsilon_nano").longValue();
            return new Perturbed(series, timestamp, policy, value, measurement, scale, epsilonNano);
        }
        if (decision.equals("approximated") && value != null) {
            Instant source = Instant.ofEpochMilli(found.required("source").longValue());
            return new Approximated(series, timestamp, policy, value, source);
        }
        if (decision.equals("withheld")) {
            return new Withheld(series, timestamp, policy);
        }
        return new Unknown(series, timestamp, decision);
    }

    /** Returns a value of a known kind, else null. */
    private static Value value(JsonNode found) {
        if (found.isNumber()) {
            return new NumberValue(found.doubleValue());
        }
        if (found.isTextual() || found.isBoolean()) {
            return new CategoryValue(found.asText());
        }
        if (!found.isObject()) {
            return null;
        }
        Map<String, Long> counts = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> field : found.properties()) {
            if (field.getValue().isIntegralNumber()) {
                counts.put(field.getKey(), field.getValue().longValue());
            }
        }
        if (counts.size() == found.size()) {
            return new CountsValue(counts);
        }
        if (found.path("latitude").isNumber() && found.path("longitude").isNumber()) {
            return new LocationValue(found.get("latitude").doubleValue(), found.get("longitude").doubleValue());
        }
        Map<String, Double> parts = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> field : found.properties()) {
            if (!field.getValue().isNumber()) {
                return null;
            }
            parts.put(field.getKey(), field.getValue().doubleValue());
        }
        return new VectorValue(parts);
    }

    /** Does with a release what the application is for. */
    private static void handle(Release release) {
        System.out.println(release);
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8)); // series ids, in any locale
        String bootstrap = arguments.length > 0 ? arguments[0] : "127.0.0.1:9092";
        String topic = arguments.length > 1 ? arguments[1] : "landmark.releases";
        Properties properties = new Properties();
        properties.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(ConsumerConfig.GROUP_ID_CONFIG, arguments.length > 2 ? arguments[2] : "releases-example");
        // Java's default is read_uncommitted: it shows what a crashed worker did not commit, which is no release.
        properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
        properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");

        Thread main = Thread.currentThread();
        try (KafkaConsumer<String, byte[]> consumer =
                new KafkaConsumer<>(properties, new StringDeserializer(), new ByteArrayDeserializer())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    main.join();
                } catch (InterruptedException stopped) {
                    Thread.currentThread().interrupt();
                }
            }));
            consumer.subscribe(List.of(topic));
            while (true) {
                for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    handle(parse(record.value()));
                }
                consumer.commitSync();
            }
        } catch (WakeupException stopped) {
            // The program was asked to stop, between two polls: what was handled is committed.
        }
    }
}
