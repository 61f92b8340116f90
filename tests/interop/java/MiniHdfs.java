import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** A name node and a data node of Hadoop's mini cluster, on loopback, until standard input ends: arguments are a port and a directory. */
public final class MiniHdfs {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = new Configuration();
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration, new File(arguments[1]))
            .nameNodePort(Integer.parseInt(arguments[0])).numDataNodes(1).build();
        cluster.waitActive();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            continue;
        }
        cluster.shutdown();
        System.exit(0);
    }
}
