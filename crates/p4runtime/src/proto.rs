//! Messages and services of P4Runtime, generated from `proto/` (Apache-2.0, the P4 API Working
//! Group) by tonic-prost-build; `google/rpc/status.proto` has the one message of that name.
#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::allow_attributes_without_reason, rustdoc::all, reason = "generated code")]

/// Google's messages.
pub mod google {
    /// Remote procedure calls.
    pub mod rpc {
        include!("proto/google.rpc.rs.in");
    }
}

/// P4's messages.
pub mod p4 {
    /// The service.
    pub mod v1 {
        include!("proto/p4.v1.rs.in");
    }
    /// Descriptions of programs.
    pub mod config {
        /// P4Info.
        pub mod v1 {
            include!("proto/p4.config.v1.rs.in");
        }
    }
}
