import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.ObjectWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Properties;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * Kafka Streams: one processor, state in RocksDB, exactly once. What work.py does to an event, in Java.
 *
 * <p>Arguments: events topic, releases topic, ledger topic, key, pads of entry and row in letters; then settings as
 * NAME=VALUE.
 */
public final class PeerStreams {
  private static final String STORE = "state";
  private static final double SMOOTHING = 0.1;
  private static final String FIRST_HASH = "0".repeat(64);

  /** An event. */
  public static final class Event {
    public String series;
    public long timestamp;
    public double value;
  }

  /** A series' row. */
  public static final class Row {
    public long timestamp;
    public int count;
    public double mean;
    public double smooth;
    public String hash = FIRST_HASH;
    private static String pad;

    public String getRest() {
      return pad;
    }
  }

  /** A release. */
  public static final class Release {
    public String series;
    public long timestamp;
    public double value;
    public int n;
    public String hash;
  }

  /** A record of the ledger. */
  public static final class Entry {
    public String entry = "decision";
    public String series;
    public int sequence;
    public long timestamp;
    public String decision = "released";
    public String policy = "default-1";
    public double value;
    public double mean;
    public double smooth;
    public long last;
    public String previous;
    public String hash;
    public String rest;
  }

  private static final class Answering implements Processor<byte[], byte[], byte[], byte[]> {
    private final ObjectMapper json = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    private final ObjectReader events = json.readerFor(Event.class);
    private final ObjectReader rows = json.readerFor(Row.class);
    private final ObjectWriter rowWriter = json.writerFor(Row.class);
    private final ObjectWriter releaseWriter = json.writerFor(Release.class);
    private final ObjectWriter entryWriter = json.writerFor(Entry.class);
    private final HexFormat hex = HexFormat.of();
    private final byte[] key;
    private final String entryPad;
    private Mac mac;
    private ProcessorContext<byte[], byte[]> context;
    private KeyValueStore<Bytes, byte[]> store;

    Answering(byte[] key, String entryPad) {
      this.key = key;
      this.entryPad = entryPad;
    }

    @Override
    public void init(ProcessorContext<byte[], byte[]> given) {
      context = given;
      store = given.getStateStore(STORE);
      try {
        mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
      } catch (GeneralSecurityException error) {
        throw new IllegalStateException(error);
      }
    }

    @Override
    public void process(Record<byte[], byte[]> record) {
      try {
        answer(record);
      } catch (IOException error) {
        throw new IllegalStateException(error);
      }
    }

    private void answer(Record<byte[], byte[]> record) throws IOException {
      Event event = events.readValue(record.value());
      Bytes place = Bytes.wrap(record.key());
      byte[] stored = store.get(place);
      Row row = stored == null ? new Row() : rows.readValue(stored);
      String hashed = event.series + '|' + event.timestamp + '|' + event.value;
      String hash = hex.formatHex(mac.doFinal(hashed.getBytes(StandardCharsets.UTF_8)));
      Entry entry = new Entry();
      entry.last = row.timestamp;
      entry.previous = row.hash;
      row.mean = row.count == 0 ? event.value : row.mean + (event.value - row.mean) / (row.count + 1);
      row.smooth = row.count == 0 ? event.value : row.smooth + SMOOTHING * (event.value - row.smooth);
      row.count++;
      row.timestamp = event.timestamp;
      row.hash = hash;
      store.put(place, rowWriter.writeValueAsBytes(row));
      Release release = new Release();
      release.series = event.series;
      release.timestamp = event.timestamp;
      release.value = event.value;
      release.n = row.count;
      release.hash = hash;
      entry.series = event.series;
      entry.sequence = row.count;
      entry.timestamp = event.timestamp;
      entry.value = event.value;
      entry.mean = row.mean;
      entry.smooth = row.smooth;
      entry.hash = hash;
      entry.rest = entryPad;
      context.forward(record.withValue(entryWriter.writeValueAsBytes(entry)), "ledger");
      context.forward(record.withValue(releaseWriter.writeValueAsBytes(release)), "releases");
    }
  }

  private PeerStreams() {}

  /** Answer events until ended. */
  public static void main(String[] arguments) throws InterruptedException {
    byte[] key = arguments[3].getBytes(StandardCharsets.UTF_8);
    String entryPad = ".".repeat(Integer.parseInt(arguments[4]));
    Row.pad = ".".repeat(Integer.parseInt(arguments[5]));
    Properties settings = new Properties();
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "1");
    for (int at = 6; at < arguments.length; at++) {
      String[] pair = arguments[at].split("=", 2);
      settings.put(pair[0], pair[1]);
    }
    var raw = Serdes.ByteArray();
    var rows = Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore(STORE), Serdes.Bytes(), raw);
    Topology topology = new Topology();
    topology.addSource("events", raw.deserializer(), raw.deserializer(), arguments[0]);
    topology.addProcessor("answering", () -> new Answering(key, entryPad), "events");
    boolean cached = !"0".equals(settings.getProperty(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG));
    topology.addStateStore(cached ? rows.withCachingEnabled() : rows.withCachingDisabled(), "answering");
    topology.addSink("releases", arguments[1], raw.serializer(), raw.serializer(), "answering");
    topology.addSink("ledger", arguments[2], raw.serializer(), raw.serializer(), "answering");
    KafkaStreams streams = new KafkaStreams(topology, settings);
    streams.setUncaughtExceptionHandler(
        error -> {
          error.printStackTrace();
          return StreamThreadExceptionResponse.SHUTDOWN_APPLICATION;
        });
    streams.setStateListener(
        (now, before) -> {
          if (now == KafkaStreams.State.ERROR) {
            Runtime.getRuntime().halt(1);
          }
        });
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
    streams.start();
    Thread.currentThread().join();
  }
}
