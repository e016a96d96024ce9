//! How the state of functions may be shared that others have published verdicts for: what our
//! analysis says of ours, as the table of docs/cores.md has it.
//!
//! Source: F. Pereira, F. Ramos, L. Pedrosa, "Automatic parallelization of software network
//! functions", NSDI 2024; their functions, and what was made of each, are in the project's
//! repository (snaplab-dpss/maestro, `dpdk-nfs` and `synthesized`: a file NAME-sn.c where nothing
//! is shared). Functions that our library has no element for are written down here, as small as
//! they get.

use netvm::application::{Application, Placement, PlacementError, Policies, Reading, Stage};
use std::path::{Path, PathBuf};

/// A function: its name, a configuration with the element `f`, and its class if it is not of the
/// library or an application.
type Function = (&'static str, &'static str, &'static str);

const FUNCTIONS: [Function; 10] = [
    ("forwarder", "FromDevice(in) -> f :: Null -> ToDevice(out);", ""),
    ("static bridge", "FromDevice(in) -> f :: Bridge -> ToDevice(out);", STATIC_BRIDGE),
    ("bridge", "FromDevice(in) -> f :: EtherSwitch -> ToDevice(in); FromDevice(out) -> [1]f; f[1] -> ToDevice(out);", ""),
    ("policer", "FromDevice(in) -> f :: Policer -> ToDevice(out);", POLICER),
    (
        "firewall",
        "FromDevice(in) -> Strip(14) -> CheckIPHeader -> f :: Connections -> ToDevice(out); FromDevice(out) -> Strip(14) -> CheckIPHeader -> [1]f; f[1] -> ToDevice(in); f[2] -> [2]f; f[3] -> Discard; Idle -> [3]f;",
        "apps/firewall",
    ),
    ("NAT", "", "apps/nat"),
    ("connection limiter", "FromDevice(in) -> f :: Limiter -> ToDevice(out);", LIMITER),
    ("port-scan detector", "FromDevice(in) -> f :: Scans -> ToDevice(out);", SCANS),
    ("heavy hitters", "FromDevice(in) -> f :: Heavy -> ToDevice(out);", HEAVY),
    ("load balancer", "", "apps/balancer"),
];

/// Where stations are is written down before packets flow.
const STATIC_BRIDGE: &str = "ELEMENT(Bridge, \"1/1\", \"h/h\");
struct station { u32 port; };
TABLE_EXACT(stations, mac_t, struct station, 1024, 0);
void push(int port)
{
    mac_t dst = header(struct ether, 0)->dst;
    struct station *station = table_find(stations, &dst);
    if (station && station->port == 1)
        emit(0);
}";

/// A bucket for each host that is sent to, 1,000 bytes a millisecond.
const POLICER: &str = "ELEMENT(Policer, \"1/1\", \"h/h\");
struct bucket { u64 bytes; u64 when; };
TABLE_EXACT(buckets, be32, struct bucket, 65536, 10000000000);
void push(int port)
{
    be32 dst = header(struct ip, 14)->dst;
    struct bucket *bucket = table_insert(buckets, &dst);
    u64 spent;
    if (!bucket)
        emit(0);
    spent = (now() - bucket->when) / 1000;
    bucket->bytes = bucket->bytes > spent ? bucket->bytes - spent : 0;
    bucket->when = now();
    if (bucket->bytes > 100000)
        return;
    bucket->bytes += packet_length();
    emit(0);
}";

/// So many connections between two hosts.
const LIMITER: &str = "ELEMENT(Limiter, \"1/1\", \"h/h\");
FLOW_STATE(ADDRESSES);
struct pair { be32 client; be32 server; };
struct flow { be32 client; be32 server; be32 ports; };
TABLE_EXACT(counts, struct pair, u32, 65536, 0);
TABLE_EXACT(flows, struct flow, u8, 65536, 60000000000);
static struct pair pair;
static struct flow flow;
void push(int port)
{
    const struct ip *ip = header(struct ip, 14);
    u32 *count;
    pair.client = ip->src;
    pair.server = ip->dst;
    flow.client = ip->src;
    flow.server = ip->dst;
    flow.ports = *header(be32, 34);
    if (table_find(flows, &flow))
        emit(0);
    count = table_insert(counts, &pair);
    if (!count || *count >= 100)
        return;
    *count += 1;
    table_insert(flows, &flow);
    emit(0);
}";

/// Ports that a host has tried.
const SCANS: &str = "ELEMENT(Scans, \"1/1\", \"h/h\");
struct tried { be32 src; be16 port; };
TABLE_EXACT(ports, struct tried, u8, 65536, 60000000000);
TABLE_EXACT(counts, be32, u32, 65536, 60000000000);
static struct tried tried;
void push(int port)
{
    be32 src = header(struct ip, 14)->src;
    u32 *count;
    tried.src = src;
    tried.port = header(struct udp, 34)->dport;
    if (!table_find(ports, &tried)) {
        table_insert(ports, &tried);
        count = table_insert(counts, &src);
        if (count)
            *count += 1;
    }
    count = table_find(counts, &src);
    if (count && *count > 60)
        return;
    emit(0);
}";

/// Bytes of each network of senders, which are read.
const HEAVY: &str = "ELEMENT(Heavy, \"1/1\", \"h/h\");
TABLE_EXACT(bytes, u32, u64, 65536, 1000000000);
void push(int port)
{
    u32 net = ntohl(header(struct ip, 14)->src) >> 8;
    u64 *count = table_insert(bytes, &net);
    if (count) {
        *count += packet_length();
        if (*count > 1000000)
            return;
    }
    emit(0);
}";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The application, and the class or name of what is looked at.
fn read(folder: &Path, (name, text, class): Function) -> Application {
    if text.is_empty() {
        // The forward path of an application.
        let file = root().join(class).join(if class.ends_with("nat") { "forward.click" } else { "balancer.click" });
        let reading = Reading { elements: vec![root().join(class).join("elements")], ..Reading::default() };
        let text = std::fs::read_to_string(&file).unwrap();
        return Application::read(&file.display().to_string(), &text, &reading).unwrap_or_else(|error| panic!("{}", error.render(false)));
    }
    let own = folder.join(name);
    std::fs::create_dir_all(&own).unwrap();
    if class.contains("ELEMENT") {
        let named = class.split(['(', ',']).nth(1).unwrap();
        std::fs::write(own.join(format!("{named}.c")), format!("#include <netvm.h>\n#include \"click.h\"\n{class}\n")).unwrap();
    }
    let reading = Reading { elements: vec![own, root().join(class).join("elements")], ..Reading::default() };
    Application::read(name, text, &reading).unwrap_or_else(|error| panic!("{}", error.render(false)))
}

/// Where the function's element is.
fn stage(application: &Application, placement: Placement) -> Stage {
    let elements = &application.application().instances;
    let is_it = |at: &usize| elements[*at].name == "f" || ["Napt", "Nat", "Maglev"].contains(&elements[*at].class.as_str());
    let at = (0..elements.len()).find(is_it).expect("the function is there");
    [Stage::Source, Stage::Replica, Stage::Shared, Stage::Rest].into_iter().find(|stage| placement.of(*stage).any(|of| of == at)).unwrap()
}

#[test]
fn verdicts_are_those_of_the_table() {
    let folder = std::env::temp_dir().join(format!("netvm-verdicts-{}", std::process::id()));
    let page = std::fs::read_to_string(root().join("docs/cores.md")).unwrap();
    let mut rows = Vec::new();
    for function in FUNCTIONS {
        let application = read(&folder, function);
        let placed = |placement: Result<Placement, PlacementError>| {
            stage(&application, placement.unwrap_or_else(|why| panic!("{} cannot be placed: {why}", function.0)))
        };
        let total = match placed(Placement::new(application.application(), &[])) {
            Stage::Replica => "replica",
            Stage::Rest => "in order",
            other => panic!("{} is in the stage {other:?}", function.0),
        };
        let flow = match placed(Placement::by_flow(application.application(), &[], &Policies::default())) {
            Stage::Replica => "nothing shared",
            Stage::Shared => "one state, under a lock or by transactions",
            other => panic!("{} is in the stage {other:?}", function.0),
        };
        let row = format!("| {} | {total} | {flow} |", function.0);
        rows.push((page.contains(&row), row));
    }
    std::fs::remove_dir_all(folder).unwrap();
    let missing: Vec<&String> = rows.iter().filter(|(there, _)| !there).map(|(_, row)| row).collect();
    assert!(missing.is_empty(), "docs/cores.md lacks:\n{missing:#?}");
}
