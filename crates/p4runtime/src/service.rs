//! The remote procedure calls: each is handed to the loop as a job, but for what concerns streams
//! only.

use crate::fault::{Done, Fault, batch, fault};
use crate::proto::p4::v1::entity::Entity as Kind;
use crate::proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use crate::proto::p4::v1::p4_runtime_server::P4Runtime;
use crate::proto::p4::v1::stream_message_request::Update as Asked;
use crate::proto::p4::v1::stream_message_response::Update as Told;
use crate::proto::p4::v1::{self, Entity, ReadResponse, StreamError, StreamMessageRequest};
use crate::streams::{Message, Streams, number};
use crate::{Job, device::Device, lock, send};
use netvm::p4::Switch;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Request, Response, Status, Streaming};

/// Entities in one message of an answer.
const PART: usize = 1024;

pub(crate) struct Service {
    pub jobs: SyncSender<Job>,
    pub streams: Arc<Mutex<Streams>>,
    pub device: u64,
}

impl Service {
    /// Lets the loop do something.
    async fn ask<T: Send + 'static>(&self, f: impl FnOnce(&mut Device, &mut Switch) -> T + Send + 'static) -> Result<T, Status> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |device, switch| {
            // Who asked may have gone.
            let _ = reply.send(f(device, switch));
        });
        send(&self.jobs, job)?;
        answer.await.map_err(|_| Status::unavailable("the run is over"))
    }

    fn right_device(&self, id: u64) -> Result<(), Status> {
        if id == self.device { Ok(()) } else { Err(Status::not_found(format!("there is no device {id}; this one is {}", self.device))) }
    }

    fn primary_only(&self, role: &str, election: Option<&v1::Uint128>) -> Result<(), Status> {
        let streams = lock(&self.streams);
        if !streams.knows(role) {
            return Err(Status::not_found(format!("no controller has the role `{role}`")));
        }
        let primary = streams.is_primary(role, number(election));
        if primary { Ok(()) } else { Err(Status::permission_denied("only the primary controller may do this")) }
    }
}

#[tonic::async_trait]
impl P4Runtime for Service {
    type ReadStream = ReceiverStream<Result<ReadResponse, Status>>;
    type StreamChannelStream = ReceiverStream<Message>;

    async fn write(&self, request: Request<v1::WriteRequest>) -> Result<Response<v1::WriteResponse>, Status> {
        let request = request.into_inner();
        self.right_device(request.device_id)?;
        self.primary_only(&request.role, request.election_id.as_ref())?;
        let atomicity = request.atomicity();
        let results = self.ask(move |device, switch| device.write(switch, &request.updates, atomicity)).await?;
        if results.iter().all(Result::is_ok) { Ok(Response::new(v1::WriteResponse {})) } else { Err(batch(&results)) }
    }

    async fn read(&self, request: Request<v1::ReadRequest>) -> Result<Response<Self::ReadStream>, Status> {
        let request = request.into_inner();
        self.right_device(request.device_id)?;
        let read = move |device: &mut Device, switch: &mut Switch| -> Done<Vec<Kind>> {
            let mut all = Vec::new();
            for entity in request.entities {
                let Some(wanted) = entity.entity else { return fault(Code::InvalidArgument, "an entity is empty") };
                all.extend(device.read_one(switch, &wanted)?);
            }
            Ok(all)
        };
        let all = self.ask(read).await??;
        let entities: Vec<Entity> = all.into_iter().map(|entity| Entity { entity: Some(entity) }).collect();
        let parts: Vec<_> = entities.chunks(PART).map(|part| Ok(ReadResponse { entities: part.to_vec() })).collect();
        let (to, from) = mpsc::channel(parts.len().max(1));
        for part in parts {
            // There is room for all.
            let _ = to.try_send(part);
        }
        Ok(Response::new(ReceiverStream::new(from)))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<v1::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::SetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.right_device(request.device_id)?;
        self.primary_only(&request.role, request.election_id.as_ref())?;
        self.ask(move |device, switch| device.configure(switch, &request)).await??;
        Ok(Response::new(v1::SetForwardingPipelineConfigResponse {}))
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<v1::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<v1::GetForwardingPipelineConfigResponse>, Status> {
        let request = request.into_inner();
        self.right_device(request.device_id)?;
        let kind = request.response_type();
        let own = |device: &mut Device, _: &mut Switch| {
            let running = v1::ForwardingPipelineConfig { p4info: Some(device.info.all.clone()), ..Default::default() };
            device.config.clone().unwrap_or(running)
        };
        let mut config = self.ask(own).await?;
        if matches!(kind, ResponseType::CookieOnly | ResponseType::DeviceConfigAndCookie) {
            config.p4info = None;
        }
        if matches!(kind, ResponseType::CookieOnly | ResponseType::P4infoAndCookie) {
            config.p4_device_config = Vec::new();
        }
        Ok(Response::new(v1::GetForwardingPipelineConfigResponse { config: Some(config) }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (id, from) = lock(&self.streams).open()?;
        let listener = Listener { id, jobs: self.jobs.clone(), streams: Arc::clone(&self.streams), device: self.device };
        tokio::spawn(listener.listen(request.into_inner()));
        Ok(Response::new(ReceiverStream::new(from)))
    }

    async fn capabilities(&self, _: Request<v1::CapabilitiesRequest>) -> Result<Response<v1::CapabilitiesResponse>, Status> {
        Ok(Response::new(v1::CapabilitiesResponse { p4runtime_api_version: "1.4.1".to_owned(), ..Default::default() }))
    }
}

/// What listens to one stream.
struct Listener {
    id: u64,
    jobs: SyncSender<Job>,
    streams: Arc<Mutex<Streams>>,
    device: u64,
}

impl Listener {
    async fn listen(self, mut from: Streaming<StreamMessageRequest>) {
        while let Ok(Some(message)) = from.message().await {
            if let Err(status) = self.message(message.update) {
                lock(&self.streams).end(self.id, status);
                break;
            }
        }
        lock(&self.streams).close(self.id);
    }

    fn message(&self, update: Option<Asked>) -> Result<(), Status> {
        match update {
            Some(Asked::Arbitration(update)) if update.device_id != self.device => {
                Err(Status::not_found(format!("there is no device {}; this one is {}", update.device_id, self.device)))
            }
            Some(Asked::Arbitration(update)) => lock(&self.streams).arbitrate(self.id, &update),
            Some(Asked::Packet(packet)) => {
                self.packet(packet);
                Ok(())
            }
            Some(Asked::DigestAck(ack)) => {
                self.acknowledged(ack);
                Ok(())
            }
            Some(Asked::Other(_)) | None => {
                let fault = Fault { code: Code::Unimplemented, message: "this message is not known".to_owned() };
                lock(&self.streams).send(self.id, Told::Error(error(&fault, None)));
                Ok(())
            }
        }
    }

    /// A list of digests has arrived, if the primary controller says so.
    fn acknowledged(&self, ack: v1::DigestListAck) {
        if lock(&self.streams).stream_is_primary(self.id) {
            let job: Job = Box::new(move |device, _| device.unacknowledged.acknowledge(ack.digest_id, ack.list_id));
            // One that is lost is as one that comes too late.
            let _ = send(&self.jobs, job);
        }
    }

    fn packet(&self, packet: v1::PacketOut) {
        let refuse = |streams: &Mutex<Streams>, id: u64, fault: &Fault, packet: v1::PacketOut| {
            lock(streams).send(id, Told::Error(error(fault, Some(packet))));
        };
        if !lock(&self.streams).stream_is_primary(self.id) {
            let fault = Fault { code: Code::PermissionDenied, message: "only the primary controller sends packets".to_owned() };
            return refuse(&self.streams, self.id, &fault, packet);
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64);
        let (streams, id, given) = (Arc::clone(&self.streams), self.id, packet.clone());
        let job: Job = Box::new(move |device, switch| {
            if let Err(fault) = device.packet_out(switch, &packet, time) {
                refuse(&streams, id, &fault, packet);
            }
        });
        if let Err(status) = send(&self.jobs, job) {
            let fault = Fault { code: status.code(), message: status.message().to_owned() };
            refuse(&self.streams, self.id, &fault, given);
        }
    }
}

/// An error of a stream, about a packet or something else.
fn error(fault: &Fault, packet: Option<v1::PacketOut>) -> StreamError {
    use v1::stream_error::Details;
    let details = match packet {
        Some(packet) => Details::PacketOut(v1::PacketOutError { packet_out: Some(packet) }),
        None => Details::Other(v1::StreamOtherError::default()),
    };
    StreamError { canonical_code: fault.code as i32, message: fault.message.clone(), details: Some(details), ..StreamError::default() }
}
