import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends observations, JSON Lines from standard input, to landmark.events. Needs Java 17, kafka-clients and
 * jackson-databind.
 *
 * <pre>java -cp 'jars/*' ProduceObservations.java [BOOTSTRAP [TOPIC [SEPARATOR]]] &lt; observations.jsonl</pre>
 *
 * The key is the series id, or the part before the worker's {@code member_separator} where it has one. Java's default partitioner is murmur2 of the key: set no other, and name no partition, or the
 * worker rejects the record as {@code misrouted}.
 */
public final class ProduceObservations {
    private ProduceObservations() {}

    public static void main(String[] arguments) throws IOException, ExecutionException, InterruptedException {
        String bootstrap = arguments.length > 0 ? arguments[0] : "127.0.0.1:9092";
        String topic = arguments.length > 1 ? arguments[1] : "landmark.events";
        String separator = arguments.length > 2 ? arguments[2] : "";
        Properties properties = new Properties();
        properties.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        properties.put(ProducerConfig.ACKS_CONFIG, "all");
        properties.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "true");

        ObjectMapper json = new ObjectMapper();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(properties, new StringSerializer(), new StringSerializer())) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonNode observation = json.readTree(line);
                String series = observation.required("series").textValue();
                int end = separator.isEmpty() ? -1 : series.indexOf(separator);
                String key = end < 0 ? series : series.substring(0, end);
                sent.add(producer.send(new ProducerRecord<>(topic, key, line)));
            }
            for (Future<RecordMetadata> record : sent) {
                record.get(); // throws where a record was not acknowledged
            }
        }
        System.out.println(sent.size() + " sent");
    }
}
