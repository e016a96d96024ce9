//! A controller over the network: arbitration, configuration, every kind of entity, packets in and
//! out, digests, and messages that are no messages.

mod others;
mod resources;
mod standard;
mod whole;

use netvm::p4::{Sent, Switch};
use p4runtime::proto::google::rpc;
use p4runtime::proto::p4::config::v1::P4Info;
use p4runtime::proto::p4::v1::entity::Entity as Kind;
use p4runtime::proto::p4::v1::p4_data::Data;
use p4runtime::proto::p4::v1::p4_runtime_client::P4RuntimeClient;
use p4runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action as Step;
use p4runtime::proto::p4::v1::stream_message_request::Update as Ask;
use p4runtime::proto::p4::v1::stream_message_response::Update as Told;
use p4runtime::proto::p4::v1::table_action::Type as ActionType;
use p4runtime::proto::p4::v1::update::Type;
use p4runtime::proto::p4::v1::write_request::Atomicity;
use p4runtime::proto::p4::v1::{self, field_match, packet_replication_engine_entry, replica};
use p4runtime::{Server, Settings};
use prost::Message;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/p4/controller.p4");

/// What is done to the switch between two turns of the server.
type Turn = Box<dyn FnOnce(&mut Switch, &mut Server) + Send>;

/// A switch in a thread of its own, between packets a server.
struct Device {
    address: std::net::SocketAddr,
    program: &'static str,
    turns: Option<mpsc::Sender<Turn>>,
    thread: Option<std::thread::JoinHandle<Vec<Sent>>>,
}

impl Device {
    fn start() -> Self {
        Self::of(PROGRAM)
    }

    fn of(program: &'static str) -> Self {
        let (address_to, address) = mpsc::channel();
        let (turns, asked) = mpsc::channel::<Turn>();
        let thread = std::thread::spawn(move || {
            let pipeline = netvm::p4::load(Path::new(program), &[], &[]).unwrap();
            let info = netvm::p4::p4info(Path::new(program), &[], &[]).unwrap();
            let mut switch = Switch::start(pipeline, &netvm::engines::ALL[0], netvm::Settings::default()).unwrap();
            let settings = Settings { address: "127.0.0.1:0".parse().unwrap(), device: 7, cpu_port: 510 };
            let mut server = Server::start(settings, &info).unwrap();
            address_to.send(server.address()).unwrap();
            let mut left = Vec::new();
            loop {
                left.extend(server.wait(&mut switch, Duration::from_millis(1)));
                match asked.try_recv() {
                    Ok(turn) => turn(&mut switch, &mut server),
                    Err(mpsc::TryRecvError::Empty) => {}
                    Err(mpsc::TryRecvError::Disconnected) => break left,
                }
            }
        });
        Self { address: address.recv().unwrap(), program, turns: Some(turns), thread: Some(thread) }
    }

    /// Ports by which copies of a packet left.
    fn receive(&self, port: u32, bytes: &[u8]) -> Vec<u32> {
        self.receive_at(port, bytes, 1_000_000)
    }

    fn receive_at(&self, port: u32, bytes: &[u8], time_ns: u64) -> Vec<u32> {
        self.copies(port, bytes, time_ns).into_iter().map(|sent| sent.port).collect()
    }

    fn copies(&self, port: u32, bytes: &[u8], time_ns: u64) -> Vec<Sent> {
        let bytes = bytes.to_vec();
        self.turn(move |switch, server| {
            let mut sent = switch.receive(port, &bytes, time_ns);
            sent.retain(|packet| !server.take_packet(packet.port, &packet.bytes));
            sent
        })
    }

    fn turn<R: Send + 'static>(&self, run: impl FnOnce(&mut Switch, &mut Server) -> R + Send + 'static) -> R {
        let (to, from) = mpsc::channel();
        let turn: Turn = Box::new(move |switch, server| to.send(run(switch, server)).unwrap());
        self.turns.as_ref().unwrap().send(turn).unwrap();
        from.recv().unwrap()
    }

    /// Commands by another door.
    fn commands(&self, text: &'static str) {
        self.turn(|switch, _| netvm::p4::stf::configure(switch, text)).unwrap();
    }

    /// What left for packets of controllers, once the run is over.
    fn end(mut self) -> Vec<Sent> {
        drop(self.turns.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

fn frame(dst: u8, src: u8) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, dst, 0, 0, 0, 0, 0, src, 0x08, 0];
    bytes.extend([0; 46]);
    bytes
}

/// A controller that has arbitrated.
struct Controller {
    client: P4RuntimeClient<Channel>,
    ask: tokio::sync::mpsc::Sender<v1::StreamMessageRequest>,
    told: Streaming<v1::StreamMessageResponse>,
    election: u64,
    info: P4Info,
}

impl Controller {
    async fn new(device: &Device, election: u64) -> Self {
        let mut client = P4RuntimeClient::connect(format!("http://{}", device.address)).await.unwrap();
        let (ask, from) = tokio::sync::mpsc::channel(16);
        let told = client.stream_channel(ReceiverStream::new(from)).await.unwrap().into_inner();
        let wire = netvm::p4::p4info(Path::new(device.program), &[], &[]).unwrap().to_wire();
        let mut controller = Self { client, ask, told, election, info: P4Info::decode(&wire[..]).unwrap() };
        controller.arbitrate().await;
        controller
    }

    async fn say(&self, update: Ask) {
        self.ask.send(v1::StreamMessageRequest { update: Some(update) }).await.unwrap();
    }

    async fn arbitrate(&mut self) {
        let update = v1::MasterArbitrationUpdate { device_id: 7, election_id: self.id(), ..Default::default() };
        self.say(Ask::Arbitration(update)).await;
    }

    fn id(&self) -> Option<v1::Uint128> {
        Some(v1::Uint128 { high: 0, low: self.election })
    }

    async fn next(&mut self) -> Told {
        let message = tokio::time::timeout(Duration::from_secs(20), self.told.message()).await;
        message.expect("nothing was told").unwrap().unwrap().update.unwrap()
    }

    /// The code of the next arbitration.
    async fn status(&mut self) -> i32 {
        match self.next().await {
            Told::Arbitration(update) => update.status.unwrap().code,
            other => panic!("{other:?}"),
        }
    }

    fn number(&self, name: &str) -> u32 {
        let info = &self.info;
        let all = info.tables.iter().map(|t| &t.preamble).chain(info.actions.iter().map(|t| &t.preamble));
        let all = all.chain(info.counters.iter().map(|t| &t.preamble)).chain(info.registers.iter().map(|t| &t.preamble));
        let all = all.chain(info.meters.iter().map(|t| &t.preamble)).chain(info.digests.iter().map(|t| &t.preamble));
        let mut all = all.chain(info.action_profiles.iter().map(|t| &t.preamble)).flatten();
        all.find(|p| p.alias == name).unwrap_or_else(|| panic!("{name}")).id
    }

    async fn write(&mut self, atomicity: Atomicity, updates: Vec<(Type, Kind)>) -> Result<(), Status> {
        let update = |(kind, entity)| v1::Update { r#type: kind as i32, entity: Some(v1::Entity { entity: Some(entity) }) };
        let request = v1::WriteRequest {
            device_id: 7,
            election_id: self.id(),
            updates: updates.into_iter().map(update).collect(),
            atomicity: atomicity as i32,
            ..Default::default()
        };
        self.client.write(request).await.map(drop)
    }

    async fn one(&mut self, kind: Type, entity: Kind) -> Code {
        let done = self.write(Atomicity::ContinueOnError, vec![(kind, entity)]).await;
        done.map_or_else(|status| errors(&status)[0], |()| Code::Ok)
    }

    async fn read(&mut self, entity: Kind) -> Vec<Kind> {
        let entities = vec![v1::Entity { entity: Some(entity) }];
        let mut answer = self.client.read(v1::ReadRequest { device_id: 7, entities, ..Default::default() }).await.unwrap().into_inner();
        let mut all = Vec::new();
        while let Some(part) = answer.message().await.unwrap() {
            all.extend(part.entities.into_iter().filter_map(|e| e.entity));
        }
        all
    }

    async fn configure(&mut self, step: Step, info: P4Info, cookie: u64) -> Result<(), Status> {
        let cookie = Some(v1::forwarding_pipeline_config::Cookie { cookie });
        let config = v1::ForwardingPipelineConfig { p4info: Some(info), p4_device_config: b"{}".to_vec(), cookie };
        let request = v1::SetForwardingPipelineConfigRequest {
            device_id: 7,
            election_id: self.id(),
            action: step as i32,
            config: Some(config),
            ..Default::default()
        };
        self.client.set_forwarding_pipeline_config(request).await.map(drop)
    }

    fn action(&self, name: &str, args: &[&[u8]]) -> v1::Action {
        let params = (1..).zip(args).map(|(param_id, value)| v1::action::Param { param_id, value: value.to_vec() }).collect();
        v1::Action { action_id: self.number(name), params }
    }

    fn forward(&self, dst: u8, action: &str, args: &[&[u8]]) -> v1::TableEntry {
        let exact = field_match::FieldMatchType::Exact(field_match::Exact { value: vec![dst] });
        v1::TableEntry {
            table_id: self.number("forward"),
            r#match: vec![v1::FieldMatch { field_id: 1, field_match_type: Some(exact) }],
            action: Some(v1::TableAction { r#type: Some(ActionType::Action(self.action(action, args))) }),
            ..Default::default()
        }
    }
}

/// The codes of a batch's updates.
fn errors(status: &Status) -> Vec<Code> {
    let all = rpc::Status::decode(status.details()).unwrap();
    assert_eq!((status.code(), all.code), (Code::Unknown, Code::Unknown as i32), "{status:?}");
    let error = |any: &prost_types::Any| v1::Error::decode(&any.value[..]).unwrap();
    all.details.iter().map(|any| Code::from(error(any).canonical_code)).collect()
}

fn run<T>(f: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(f)
}

#[test]
fn the_highest_controller_writes_and_the_others_read() {
    let device = Device::start();
    run(async {
        let mut low = Controller::new(&device, 1).await;
        assert_eq!(low.status().await, 0);
        let mut high = Controller::new(&device, 2).await;
        assert_eq!((high.status().await, low.status().await), (0, Code::AlreadyExists as i32));
        let entry = Kind::TableEntry(high.forward(1, "to", &[&[5]]));
        let refused = low.write(Atomicity::ContinueOnError, vec![(Type::Insert, entry.clone())]).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert_eq!(high.one(Type::Insert, entry.clone()).await, Code::Ok);
        assert_eq!(low.read(Kind::TableEntry(v1::TableEntry::default())).await, [entry]);
        drop(high);
        assert_eq!(low.status().await, Code::NotFound as i32);
        low.election = 3;
        low.arbitrate().await;
        assert_eq!(low.status().await, 0);
        let version = low.client.capabilities(v1::CapabilitiesRequest { device_id: 7 }).await.unwrap().into_inner();
        assert_eq!(version.p4runtime_api_version, "1.4.1");
    });
    device.end();
}

#[test]
fn configurations_are_those_of_the_program_that_runs() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let info = it.info.clone();
        let entry = Kind::TableEntry(it.forward(1, "to", &[&[5]]));
        assert_eq!(it.one(Type::Insert, entry.clone()).await, Code::Ok);
        it.configure(Step::Verify, info.clone(), 1).await.unwrap();
        it.configure(Step::ReconcileAndCommit, info.clone(), 2).await.unwrap();
        assert_eq!(device.receive(0, &frame(1, 9)), [5], "reconciling keeps entries");
        it.configure(Step::VerifyAndCommit, info.clone(), 3).await.unwrap();
        assert_eq!(device.receive(0, &frame(1, 9)), [0u32; 0]);
        let request = v1::GetForwardingPipelineConfigRequest { device_id: 7, ..Default::default() };
        let config = it.client.get_forwarding_pipeline_config(request).await.unwrap().into_inner().config.unwrap();
        assert_eq!((config.cookie.unwrap().cookie, config.p4info.as_ref()), (3, Some(&info)));
        let mut other = info;
        other.tables[0].preamble.as_mut().unwrap().name = "other".to_owned();
        assert_eq!(it.configure(Step::Verify, other, 4).await.unwrap_err().code(), Code::InvalidArgument);
        let away = v1::GetForwardingPipelineConfigRequest { device_id: 8, ..Default::default() };
        assert_eq!(it.client.get_forwarding_pipeline_config(away).await.unwrap_err().code(), Code::NotFound);
    });
    device.end();
}

#[test]
fn entries_are_written_as_the_standard_says() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let entry = it.forward(1, "to", &[&[5]]);
        let table = |entry: &v1::TableEntry| Kind::TableEntry(entry.clone());
        assert_eq!(it.one(Type::Modify, table(&entry)).await, Code::NotFound);
        assert_eq!(it.one(Type::Insert, table(&entry)).await, Code::Ok);
        assert_eq!(it.one(Type::Insert, table(&entry)).await, Code::AlreadyExists);
        assert_eq!(device.receive(0, &frame(1, 9)), [5]);
        let entry = it.forward(1, "to", &[&[6]]);
        assert_eq!(it.one(Type::Modify, table(&entry)).await, Code::Ok);
        assert_eq!(device.receive(0, &frame(1, 9)), [6]);
        let wide = it.forward(2, "to", &[&[2, 0]]);
        assert_eq!(it.one(Type::Insert, table(&wide)).await, Code::OutOfRange);
        let ranked = v1::TableEntry { priority: 1, ..it.forward(2, "to", &[&[1]]) };
        assert_eq!(it.one(Type::Insert, table(&ranked)).await, Code::InvalidArgument);
        // All or nothing: the second update is refused, and the first is undone.
        let both = vec![(Type::Insert, table(&it.forward(3, "to", &[&[3]]))), (Type::Insert, table(&wide))];
        let refused = it.write(Atomicity::RollbackOnError, both.clone()).await.unwrap_err();
        assert_eq!(errors(&refused), [Code::Aborted, Code::OutOfRange]);
        assert_eq!(device.receive(0, &frame(3, 9)), [0u32; 0]);
        let refused = it.write(Atomicity::ContinueOnError, both).await.unwrap_err();
        assert_eq!(errors(&refused), [Code::Ok, Code::OutOfRange]);
        assert_eq!(device.receive(0, &frame(3, 9)), [3]);
        // Counts of the entry, and its end.
        let wanted = v1::TableEntry { counter_data: Some(v1::CounterData::default()), ..it.forward(1, "to", &[]) };
        let read = it.read(table(&wanted)).await;
        let [Kind::TableEntry(read)] = &read[..] else { panic!("{read:?}") };
        assert_eq!(read.counter_data, Some(v1::CounterData { packet_count: 2, byte_count: 120 }));
        assert_eq!(it.one(Type::Delete, table(&entry)).await, Code::Ok);
        assert_eq!(it.one(Type::Delete, table(&entry)).await, Code::NotFound);
        let default = v1::TableEntry { is_default_action: true, r#match: Vec::new(), ..it.forward(0, "to", &[&[8]]) };
        assert_eq!(it.one(Type::Modify, table(&default)).await, Code::Ok);
        assert_eq!(device.receive(0, &frame(1, 9)), [8]);
    });
    device.end();
}

#[test]
fn groups_sessions_and_state_are_written() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let replica =
            |port: u8, instance| v1::Replica { instance, port_kind: Some(replica::PortKind::Port(vec![port])), ..Default::default() };
        let group = v1::MulticastGroupEntry { multicast_group_id: 4, replicas: vec![replica(1, 1), replica(2, 1)], metadata: Vec::new() };
        let group = packet_replication_engine_entry::Type::MulticastGroupEntry(group);
        let group = Kind::PacketReplicationEngineEntry(v1::PacketReplicationEngineEntry { r#type: Some(group) });
        assert_eq!(it.one(Type::Insert, group.clone()).await, Code::Ok);
        assert_eq!(it.read(group.clone()).await, [group]);
        let spread = Kind::TableEntry(it.forward(5, "spread", &[&[4]]));
        assert_eq!(it.one(Type::Insert, spread).await, Code::Ok);
        assert_eq!(device.receive(3, &frame(5, 9)), [1, 2]);
        let index = Some(v1::Index { index: 3 });
        let counter = v1::CounterEntry { counter_id: it.number("arrived"), index, data: None };
        let read = it.read(Kind::CounterEntry(counter)).await;
        let data = Some(v1::CounterData { packet_count: 1, byte_count: 60 });
        assert_eq!(read, [Kind::CounterEntry(v1::CounterEntry { data, ..counter })]);
        let register = |it: &Controller, index, value: &[u8]| v1::RegisterEntry {
            register_id: it.number("last"),
            index: Some(v1::Index { index }),
            data: Some(v1::P4Data { data: Some(Data::Bitstring(value.to_vec())) }),
        };
        let last = Kind::RegisterEntry(register(&it, 3, &[8, 0]));
        assert_eq!(it.read(last.clone()).await, [last]);
        let own = Kind::RegisterEntry(register(&it, 1, &[1, 2, 3]));
        assert_eq!(it.one(Type::Modify, own.clone()).await, Code::Ok);
        assert_eq!(it.read(own.clone()).await, [own]);
        let wrong = Kind::RegisterEntry(register(&it, 9, &[1]));
        assert_eq!(it.one(Type::Modify, wrong).await, Code::OutOfRange);
        let config = Some(v1::MeterConfig { cir: 1000, cburst: 5, pir: 2000, pburst: 6, eburst: 0 });
        let meter = Kind::MeterEntry(v1::MeterEntry {
            meter_id: it.number("limits"),
            index: Some(v1::Index { index: 0 }),
            config,
            counter_data: None,
        });
        assert_eq!(it.one(Type::Modify, meter.clone()).await, Code::Ok);
        assert_eq!(it.read(meter.clone()).await, [meter]);
    });
    device.end();
}

#[test]
fn profiles_have_members_and_groups() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let profile = it.number("ways");
        let member = |it: &Controller, id, port: u8| {
            let action = Some(it.action("to", &[&[port]]));
            Kind::ActionProfileMember(v1::ActionProfileMember { action_profile_id: profile, member_id: id, action })
        };
        for (id, port) in [(70, 7), (80, 8)] {
            let member = member(&it, id, port);
            assert_eq!(it.one(Type::Insert, member).await, Code::Ok);
        }
        let of = |members: &[u32]| {
            let members = members.iter().map(|id| v1::action_profile_group::Member { member_id: *id, weight: 1, ..Default::default() });
            Kind::ActionProfileGroup(v1::ActionProfileGroup {
                action_profile_id: profile,
                group_id: 5,
                members: members.collect(),
                max_size: 0,
            })
        };
        assert_eq!(it.one(Type::Insert, of(&[70, 99])).await, Code::NotFound);
        assert_eq!(it.one(Type::Insert, of(&[70])).await, Code::Ok);
        let exact = field_match::FieldMatchType::Exact(field_match::Exact { value: vec![8, 0] });
        let entry = v1::TableEntry {
            table_id: it.number("chosen"),
            r#match: vec![v1::FieldMatch { field_id: 1, field_match_type: Some(exact) }],
            action: Some(v1::TableAction { r#type: Some(ActionType::ActionProfileGroupId(5)) }),
            ..Default::default()
        };
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(entry)).await, Code::Ok);
        assert_eq!(device.receive(0, &frame(1, 9)), [7]);
        assert_eq!(it.one(Type::Modify, of(&[80])).await, Code::Ok);
        assert_eq!(device.receive(0, &frame(1, 9)), [8]);
        assert_eq!(it.read(of(&[])).await, [of(&[80])]);
        let used = member(&it, 80, 8);
        assert_eq!(it.one(Type::Delete, used).await, Code::FailedPrecondition);
    });
    device.end();
}

#[test]
fn a_role_has_no_configuration() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let role = v1::Role { name: "r".to_owned(), config: Some(prost_types::Any::default()), ..Default::default() };
        let update = v1::MasterArbitrationUpdate { device_id: 7, role: Some(role), election_id: it.id(), status: None };
        it.say(Ask::Arbitration(update)).await;
        assert_eq!(it.told.message().await.unwrap_err().code(), Code::InvalidArgument);
    });
    device.end();
}

#[test]
fn packets_and_digests_come_and_go() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let tell = Kind::TableEntry(it.forward(1, "tell", &[]));
        assert_eq!(it.one(Type::Insert, tell).await, Code::Ok);
        assert_eq!(device.receive(3, &frame(1, 9)), [0u32; 0]);
        let Told::Packet(packet) = it.next().await else { panic!("no packet") };
        let metadata = |id, value: &[u8]| v1::PacketMetadata { metadata_id: id, value: value.to_vec() };
        assert_eq!((packet.payload, packet.metadata), (frame(1, 9), vec![metadata(1, &[3]), metadata(2, &[0])]));
        let digest = v1::DigestEntry { digest_id: it.number("seen_t"), config: None };
        assert_eq!(it.one(Type::Insert, Kind::DigestEntry(digest)).await, Code::Ok);
        device.receive(2, &frame(77, 66));
        let Told::Digest(list) = it.next().await else { panic!("no digest") };
        let bits = |value: &[u8]| v1::P4Data { data: Some(Data::Bitstring(value.to_vec())) };
        let told: Vec<_> = list.data.into_iter().filter_map(|d| d.data).collect();
        assert!(told.contains(&Data::Struct(v1::P4StructLike { members: vec![bits(&[66]), bits(&[2])] })), "{told:?}");
        let out = v1::PacketOut { payload: frame(4, 4), metadata: vec![metadata(1, &[9]), metadata(2, &[0])] };
        it.say(Ask::Packet(out.clone())).await;
        it.say(Ask::Packet(v1::PacketOut { metadata: Vec::new(), ..out })).await;
        let Told::Error(error) = it.next().await else { panic!("no error") };
        assert_eq!(error.canonical_code, Code::InvalidArgument as i32);
    });
    assert_eq!(device.end(), [Sent { port: 9, bytes: frame(4, 4) }]);
}

/// What is no message is refused, and the server goes on.
#[test]
fn messages_that_are_none_do_no_harm() {
    let device = Device::start();
    run(async {
        let mut it = Controller::new(&device, 1).await;
        it.status().await;
        let mut seed = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let sound = v1::Entity { entity: Some(Kind::TableEntry(it.forward(1, "to", &[&[5]]))) }.encode_to_vec();
        for _ in 0..500 {
            let mut bytes = sound.clone();
            for _ in 0..1 + random() % 4 {
                let at = random() as usize % bytes.len();
                bytes[at] = random() as u8;
            }
            let Ok(v1::Entity { entity: Some(entity) }) = v1::Entity::decode(&bytes[..]) else { continue };
            let kind = [Type::Insert, Type::Modify, Type::Delete, Type::Unspecified][random() as usize % 4];
            let atomicity = [Atomicity::ContinueOnError, Atomicity::DataplaneAtomic][random() as usize % 2];
            // Refused or done: both are answers.
            let _ = it.write(atomicity, vec![(kind, entity)]).await;
        }
        let long = Kind::TableEntry(v1::TableEntry { metadata: vec![0; 17 << 20], ..it.forward(9, "to", &[&[5]]) });
        assert!(it.write(Atomicity::ContinueOnError, vec![(Type::Insert, long)]).await.is_err());
        assert_eq!(it.one(Type::Insert, Kind::TableEntry(it.forward(200, "to", &[&[5]]))).await, Code::Ok);
    });
    assert_eq!(device.receive(0, &frame(200, 9)), [5]);
    device.end();
}
