//! Why an update or a request is refused: a code of gRPC and a message.

use crate::proto::google::rpc;
use crate::proto::p4::v1;
use netvm::p4::SwitchError;
use prost::Message;
use tonic::{Code, Status};

#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub code: Code,
    pub message: String,
}

pub(crate) type Done<T = ()> = Result<T, Fault>;

pub(crate) fn fault<T>(code: Code, message: impl Into<String>) -> Done<T> {
    Err(Fault { code, message: message.into() })
}

/// What the switch says.
pub(crate) fn refused(error: SwitchError) -> Fault {
    let code = match &error {
        SwitchError::NotFound(_) => Code::NotFound,
        SwitchError::Exists(_) => Code::AlreadyExists,
        SwitchError::Full(_) => Code::ResourceExhausted,
        SwitchError::InUse(_) => Code::FailedPrecondition,
        SwitchError::Invalid(_) => Code::InvalidArgument,
    };
    Fault { code, message: error.into() }
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code, fault.message)
    }
}

/// The status of a batch: an error for each update, OK for those that were done.
pub(crate) fn batch(results: &[Done]) -> Status {
    let error = |result: &Done| match result {
        Ok(()) => v1::Error::default(),
        Err(fault) => v1::Error { canonical_code: fault.code as i32, message: fault.message.clone(), ..v1::Error::default() },
    };
    let detail =
        |result: &Done| prost_types::Any { type_url: "type.googleapis.com/p4.v1.Error".to_owned(), value: error(result).encode_to_vec() };
    let message = "an update of the batch was refused".to_owned();
    let status = rpc::Status { code: Code::Unknown as i32, message: message.clone(), details: results.iter().map(detail).collect() };
    Status::with_details(Code::Unknown, message, status.encode_to_vec().into())
}
