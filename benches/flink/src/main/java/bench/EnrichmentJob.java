package bench;

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * Flink's entry in the benchmark: orders joined with users and products, as one SQL statement.
 *
 * <p>System properties say what varies:
 *
 * <ul>
 *   <li>{@code bootstrap}, {@code source}, {@code sink}: the broker and the two topics
 *   <li>{@code jdbc}, {@code user}, {@code password}: the database of the dimension tables
 *   <li>{@code parallelism}: 2 unless said otherwise
 *   <li>{@code unbounded}: keeps running; otherwise the job ends with the topic
 *   <li>{@code noCache}: every row asks the database
 *   <li>{@code hint}: LOOKUP hints
 *   <li>{@code where}: the filter. The default passes every row, and makes the planner put ChangelogNormalize into the
 *       plan; without it Flink 2.1 and later leave that operator out here, and the sink never sees a delete
 *   <li>{@code plan}: a file to write the plan to
 *   <li>{@code flink.*}: settings of Flink itself
 * </ul>
 */
public final class EnrichmentJob {
  private static final String FLINK = "flink.";

  public static void main(String[] args) throws Exception {
    var settings = new Configuration();
    for (var name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith(FLINK)) {
        settings.setString(name.substring(FLINK.length()), System.getProperty(name));
      }
    }
    var cluster = StreamExecutionEnvironment.getExecutionEnvironment(settings);
    cluster.setParallelism(Integer.getInteger("parallelism", 2));
    var tables = StreamTableEnvironment.create(
        cluster, EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());

    String topic = "'connector'='upsert-kafka','properties.bootstrap.servers'='" + property("bootstrap", "localhost:9092")
        + "','key.format'='json','value.format'='json','topic'='";
    tables.executeSql("CREATE TABLE orders (order_id BIGINT, user_id INT, product_id INT, region STRING, amount DECIMAL(10,2),"
        + " status STRING, note STRING, log_ts TIMESTAMP(3), proctime AS PROCTIME(), PRIMARY KEY (order_id) NOT ENFORCED) WITH ("
        + topic + property("source", "orders") + "','properties.group.id'='flink-bench'"
        + (Boolean.getBoolean("unbounded") ? ")" : ",'scan.bounded.mode'='latest-offset')"));
    tables.executeSql(dimension("users", "id INT, name STRING, `level` INT, city STRING"));
    tables.executeSql(dimension("products", "id INT, title STRING, price DECIMAL(10,2)"));
    tables.executeSql("CREATE TABLE enriched (order_id BIGINT, user_id INT, name STRING, `level` INT, title STRING,"
        + " price DECIMAL(10,2), amount DECIMAL(10,2), status STRING, log_ts TIMESTAMP(3), PRIMARY KEY (order_id) NOT ENFORCED)"
        + " WITH (" + topic + property("sink", "enriched") + "','sink.delivery-guarantee'='at-least-once')");

    String insert = "INSERT INTO enriched SELECT " + property("hint", "")
        + " o.order_id, o.user_id, u.name, u.`level`, p.title, p.price, o.amount, o.status, o.log_ts FROM orders AS o"
        + " LEFT JOIN users FOR SYSTEM_TIME AS OF o.proctime AS u ON o.user_id = u.id"
        + " JOIN products FOR SYSTEM_TIME AS OF o.proctime AS p ON o.product_id = p.id "
        + property("where", "WHERE o.amount >= 0");
    if (System.getProperty("plan") != null) {
      Files.writeString(Path.of(System.getProperty("plan")), tables.explainSql(insert, ExplainDetail.CHANGELOG_MODE));
    }
    tables.executeSql(insert).await();
  }

  private static String dimension(String table, String columns) {
    String cache = Boolean.getBoolean("noCache")
        ? "'lookup.cache'='NONE'"
        : "'lookup.cache'='PARTIAL','lookup.partial-cache.max-rows'='200000','lookup.partial-cache.expire-after-write'='1 h'";
    return "CREATE TABLE " + table + " (" + columns + ", PRIMARY KEY (id) NOT ENFORCED) WITH ('connector'='jdbc','url'='"
        + property("jdbc", "jdbc:mysql://localhost:3306/bench") + "','username'='" + property("user", "root")
        + "','password'='" + property("password", "") + "','table-name'='" + table + "'," + cache + ")";
  }

  private static String property(String name, String otherwise) {
    return System.getProperty(name, otherwise);
  }
}
