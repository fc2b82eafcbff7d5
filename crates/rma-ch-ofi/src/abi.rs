//! libfabric's structures and constants as C lays them out, version 1.17. Later versions only add fields behind these.
//!
//! Structures that the library makes are declared as far as they are used; those that this crate makes are whole. A test
//! compares every size, offset and constant with the headers, where they are installed.

use std::ffi::{c_char, c_int, c_void};

/// Declares structures with the names that the headers have, and the list of what a test compares. A structure that is not
/// `whole` goes on in C.
macro_rules! structures {
    ($(
        $(#[$doc:meta])* $whole:ident $name:ident = $c:literal {
            $($field:ident: $type:ty = $c_field:literal,)*
        }
    )*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
            }
        )*

        fn structures() -> Vec<(String, u64)> {
            let mut all = Vec::new();
            $(
                if stringify!($whole) == "whole" {
                    all.push((format!("sizeof({})", $c), size_of::<$name>() as u64));
                }
                $(
                    let field = format!("offsetof({}, {})", $c, $c_field);
                    all.push((field, std::mem::offset_of!($name, $field) as u64));
                )*
            )*
            all
        }
    };
}

/// Declares constants, and the list of what a test compares.
macro_rules! constants {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(pub(crate) const $name: $type = $value;)*

        fn constants() -> Vec<(String, u64)> {
            vec![$((stringify!($name).to_owned(), $name as u64),)*]
        }
    };
}

/// C expressions and what they must come to, for the test against the headers.
#[doc(hidden)]
pub fn layout() -> Vec<(String, u64)> {
    [structures(), constants()].concat()
}

/// What is asked for: the version whose structures these are.
pub(crate) const VERSION: u32 = 1 << 16 | 17;
/// Any peer.
pub(crate) const FI_ADDR_UNSPEC: u64 = u64::MAX;

constants! {
    FI_MSG: u64 = 1 << 1;
    FI_RMA: u64 = 1 << 2;
    FI_READ: u64 = 1 << 8;
    FI_WRITE: u64 = 1 << 9;
    FI_RECV: u64 = 1 << 10;
    FI_SEND: u64 = 1 << 11;
    FI_REMOTE_READ: u64 = 1 << 12;
    FI_REMOTE_WRITE: u64 = 1 << 13;
    FI_COMPLETION: u64 = 1 << 24;
    FI_DELIVERY_COMPLETE: u64 = 1 << 28;
    FI_SOURCE: u64 = 1 << 57;
    FI_NUMERICHOST: u64 = 1 << 55;
    FI_CONTEXT: u64 = 1 << 59;
    FI_CONTEXT2: u64 = 1 << 52;
    FI_ORDER_SAS: u64 = 1 << 8;
    FI_EP_RDM: c_int = 3;
    FI_AV_TABLE: c_int = 2;
    FI_THREAD_DOMAIN: c_int = 3;
    FI_RM_ENABLED: c_int = 2;
    FI_MR_LOCAL: c_int = 1 << 2;
    FI_MR_VIRT_ADDR: c_int = 1 << 4;
    FI_MR_ALLOCATED: c_int = 1 << 5;
    FI_MR_PROV_KEY: c_int = 1 << 6;
    FI_MR_ENDPOINT: c_int = 1 << 9;
    FI_CQ_FORMAT_MSG: c_int = 2;
    FI_WAIT_NONE: c_int = 0;
    FI_WAIT_FD: c_int = 3;
    FI_GETWAIT: c_int = 5;
    FI_ENABLE: c_int = 6;
    FI_EAGAIN: c_int = 11;
    FI_EAVAIL: c_int = 259;
}

structures! {
    /// `struct fid`.
    whole Fid = "struct fid" {
        class: usize = "fclass",
        context: *mut c_void = "context",
        ops: *const Ops = "ops",
    }

    /// `struct fi_ops`.
    open Ops = "struct fi_ops" {
        size: usize = "size",
        close: Option<unsafe extern "C" fn(*mut Fid) -> c_int> = "close",
        bind: Option<unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int> = "bind",
        control: Option<unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int> = "control",
    }

    /// `struct fi_tx_attr`.
    whole TxAttr = "struct fi_tx_attr" {
        caps: u64 = "caps",
        mode: u64 = "mode",
        op_flags: u64 = "op_flags",
        msg_order: u64 = "msg_order",
        comp_order: u64 = "comp_order",
        inject_size: usize = "inject_size",
        size: usize = "size",
        iov_limit: usize = "iov_limit",
        rma_iov_limit: usize = "rma_iov_limit",
        tclass: u32 = "tclass",
    }

    /// `struct fi_rx_attr`.
    whole RxAttr = "struct fi_rx_attr" {
        caps: u64 = "caps",
        mode: u64 = "mode",
        op_flags: u64 = "op_flags",
        msg_order: u64 = "msg_order",
        comp_order: u64 = "comp_order",
        total_buffered_recv: usize = "total_buffered_recv",
        size: usize = "size",
        iov_limit: usize = "iov_limit",
    }

    /// `struct fi_ep_attr`.
    open EpAttr = "struct fi_ep_attr" {
        kind: c_int = "type",
        protocol: u32 = "protocol",
        protocol_version: u32 = "protocol_version",
        max_msg_size: usize = "max_msg_size",
        msg_prefix_size: usize = "msg_prefix_size",
    }

    /// `struct fi_domain_attr`.
    open DomainAttr = "struct fi_domain_attr" {
        domain: *mut FidDomain = "domain",
        name: *mut c_char = "name",
        threading: c_int = "threading",
        control_progress: c_int = "control_progress",
        data_progress: c_int = "data_progress",
        resource_mgmt: c_int = "resource_mgmt",
        av_type: c_int = "av_type",
        mr_mode: c_int = "mr_mode",
        mr_key_size: usize = "mr_key_size",
    }

    /// `struct fi_fabric_attr`.
    whole FabricAttr = "struct fi_fabric_attr" {
        fabric: *mut FidFabric = "fabric",
        name: *mut c_char = "name",
        prov_name: *mut c_char = "prov_name",
        prov_version: u32 = "prov_version",
        api_version: u32 = "api_version",
    }

    /// `struct fi_info`.
    whole Info = "struct fi_info" {
        next: *mut Info = "next",
        caps: u64 = "caps",
        mode: u64 = "mode",
        addr_format: u32 = "addr_format",
        src_addrlen: usize = "src_addrlen",
        dest_addrlen: usize = "dest_addrlen",
        src_addr: *mut c_void = "src_addr",
        dest_addr: *mut c_void = "dest_addr",
        handle: *mut Fid = "handle",
        tx_attr: *mut TxAttr = "tx_attr",
        rx_attr: *mut RxAttr = "rx_attr",
        ep_attr: *mut EpAttr = "ep_attr",
        domain_attr: *mut DomainAttr = "domain_attr",
        fabric_attr: *mut FabricAttr = "fabric_attr",
        nic: *mut c_void = "nic",
    }

    /// `struct fi_ops_fabric`.
    open OpsFabric = "struct fi_ops_fabric" {
        size: usize = "size",
        domain: Option<unsafe extern "C" fn(
            *mut FidFabric, *mut Info, *mut *mut FidDomain, *mut c_void,
        ) -> c_int> = "domain",
        passive_ep: *const c_void = "passive_ep",
        eq_open: *const c_void = "eq_open",
        wait_open: *const c_void = "wait_open",
        trywait: Option<unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int> = "trywait",
    }

    /// `struct fid_fabric`.
    whole FidFabric = "struct fid_fabric" {
        fid: Fid = "fid",
        ops: *const OpsFabric = "ops",
        api_version: u32 = "api_version",
    }

    /// `struct fi_ops_domain`.
    open OpsDomain = "struct fi_ops_domain" {
        size: usize = "size",
        av_open: Option<unsafe extern "C" fn(
            *mut FidDomain, *mut AvAttr, *mut *mut FidAv, *mut c_void,
        ) -> c_int> = "av_open",
        cq_open: Option<unsafe extern "C" fn(
            *mut FidDomain, *mut CqAttr, *mut *mut FidCq, *mut c_void,
        ) -> c_int> = "cq_open",
        endpoint: Option<unsafe extern "C" fn(
            *mut FidDomain, *mut Info, *mut *mut FidEp, *mut c_void,
        ) -> c_int> = "endpoint",
    }

    /// `struct fi_ops_mr`.
    open OpsMr = "struct fi_ops_mr" {
        size: usize = "size",
        reg: Option<unsafe extern "C" fn(
            *mut Fid, *const c_void, usize, u64, u64, u64, u64, *mut *mut FidMr, *mut c_void,
        ) -> c_int> = "reg",
    }

    /// `struct fid_domain`.
    whole FidDomain = "struct fid_domain" {
        fid: Fid = "fid",
        ops: *const OpsDomain = "ops",
        mr: *const OpsMr = "mr",
    }

    /// `struct fid_mr`.
    whole FidMr = "struct fid_mr" {
        fid: Fid = "fid",
        mem_desc: *mut c_void = "mem_desc",
        key: u64 = "key",
    }

    /// `struct fi_av_attr`.
    whole AvAttr = "struct fi_av_attr" {
        kind: c_int = "type",
        rx_ctx_bits: c_int = "rx_ctx_bits",
        count: usize = "count",
        ep_per_node: usize = "ep_per_node",
        name: *const c_char = "name",
        map_addr: *mut c_void = "map_addr",
        flags: u64 = "flags",
    }

    /// `struct fi_ops_av`.
    open OpsAv = "struct fi_ops_av" {
        size: usize = "size",
        insert: Option<unsafe extern "C" fn(
            *mut FidAv, *const c_void, usize, *mut u64, u64, *mut c_void,
        ) -> c_int> = "insert",
        insertsvc: *const c_void = "insertsvc",
        insertsym: *const c_void = "insertsym",
        remove: Option<unsafe extern "C" fn(*mut FidAv, *mut u64, usize, u64) -> c_int> = "remove",
    }

    /// `struct fid_av`.
    whole FidAv = "struct fid_av" {
        fid: Fid = "fid",
        ops: *const OpsAv = "ops",
    }

    /// `struct fi_cq_attr`.
    whole CqAttr = "struct fi_cq_attr" {
        size: usize = "size",
        flags: u64 = "flags",
        format: c_int = "format",
        wait_obj: c_int = "wait_obj",
        signaling_vector: c_int = "signaling_vector",
        wait_cond: c_int = "wait_cond",
        wait_set: *mut c_void = "wait_set",
    }

    /// `struct fi_cq_msg_entry`.
    whole CqMsgEntry = "struct fi_cq_msg_entry" {
        op_context: *mut c_void = "op_context",
        flags: u64 = "flags",
        len: usize = "len",
    }

    /// `struct fi_cq_err_entry`.
    whole CqErrEntry = "struct fi_cq_err_entry" {
        op_context: *mut c_void = "op_context",
        flags: u64 = "flags",
        len: usize = "len",
        buf: *mut c_void = "buf",
        data: u64 = "data",
        tag: u64 = "tag",
        olen: usize = "olen",
        err: c_int = "err",
        prov_errno: c_int = "prov_errno",
        err_data: *mut c_void = "err_data",
        err_data_size: usize = "err_data_size",
    }

    /// `struct fi_ops_cq`.
    open OpsCq = "struct fi_ops_cq" {
        size: usize = "size",
        read: Option<unsafe extern "C" fn(*mut FidCq, *mut c_void, usize) -> isize> = "read",
        readfrom: *const c_void = "readfrom",
        readerr: Option<unsafe extern "C" fn(*mut FidCq, *mut CqErrEntry, u64) -> isize> = "readerr",
    }

    /// `struct fid_cq`.
    whole FidCq = "struct fid_cq" {
        fid: Fid = "fid",
        ops: *const OpsCq = "ops",
    }

    /// `struct fi_ops_cm`.
    open OpsCm = "struct fi_ops_cm" {
        size: usize = "size",
        setname: *const c_void = "setname",
        getname: Option<unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int> = "getname",
    }

    /// `struct fi_ops_msg`.
    open OpsMsg = "struct fi_ops_msg" {
        size: usize = "size",
        recv: Option<unsafe extern "C" fn(
            *mut FidEp, *mut c_void, usize, *mut c_void, u64, *mut c_void,
        ) -> isize> = "recv",
        recvv: *const c_void = "recvv",
        recvmsg: *const c_void = "recvmsg",
        send: Option<unsafe extern "C" fn(
            *mut FidEp, *const c_void, usize, *mut c_void, u64, *mut c_void,
        ) -> isize> = "send",
        sendv: *const c_void = "sendv",
        sendmsg: *const c_void = "sendmsg",
        inject: Option<unsafe extern "C" fn(*mut FidEp, *const c_void, usize, u64) -> isize> = "inject",
    }

    /// `struct fi_rma_iov`.
    whole RmaIov = "struct fi_rma_iov" {
        addr: u64 = "addr",
        len: usize = "len",
        key: u64 = "key",
    }

    /// `struct fi_msg_rma`.
    whole MsgRma = "struct fi_msg_rma" {
        msg_iov: *const libc::iovec = "msg_iov",
        desc: *mut *mut c_void = "desc",
        iov_count: usize = "iov_count",
        addr: u64 = "addr",
        rma_iov: *const RmaIov = "rma_iov",
        rma_iov_count: usize = "rma_iov_count",
        context: *mut c_void = "context",
        data: u64 = "data",
    }

    /// `struct fi_ops_rma`.
    open OpsRma = "struct fi_ops_rma" {
        size: usize = "size",
        read: Option<unsafe extern "C" fn(
            *mut FidEp, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void,
        ) -> isize> = "read",
        readv: *const c_void = "readv",
        readmsg: *const c_void = "readmsg",
        write: *const c_void = "write",
        writev: *const c_void = "writev",
        writemsg: Option<unsafe extern "C" fn(*mut FidEp, *const MsgRma, u64) -> isize> = "writemsg",
    }

    /// `struct fid_ep`.
    open FidEp = "struct fid_ep" {
        fid: Fid = "fid",
        ops: *const c_void = "ops",
        cm: *const OpsCm = "cm",
        msg: *const OpsMsg = "msg",
        rma: *const OpsRma = "rma",
    }
}
