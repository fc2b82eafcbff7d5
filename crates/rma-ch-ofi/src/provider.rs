//! Which of libfabric's providers is used: what is asked for, and what a machine has.

use crate::abi::*;
use crate::config::OfiConfig;
use crate::library::Library;
use std::ffi::{CStr, CString};
use std::net::IpAddr;
use std::ptr::{null, null_mut};

/// What a machine has: version and provider, or why there is nothing.
///
/// # Errors
/// Why there is nothing, and what to do.
///
/// # Safety
/// What the configuration names as libfabric's shared object is that, or an object that does no harm when it is loaded and asked.
pub unsafe fn probe(config: &OfiConfig) -> Result<String, String> {
    // SAFETY: the caller's promise.
    let library = unsafe { Library::load(config.library.as_str(), config.provider.as_str())? };
    let info = find(&library, config.provider.as_str(), None)?;
    // SAFETY: the library's description, with a name where it has one.
    let name = unsafe {
        let name = (*(*info).fabric_attr).prov_name;
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    };
    // SAFETY: found above, and used by nothing any more.
    unsafe { (library.freeinfo)(info) };
    let (major, minor) = library.version();
    Ok(format!("{} {major}.{minor}, provider {name}", config.library.as_str()))
}

/// What the provider offers of what is needed.
pub(crate) fn find(library: &Library, provider: &str, listen: Option<IpAddr>) -> Result<*mut Info, String> {
    let name = CString::new(provider).map_err(|_| "the provider's name has a zero byte".to_owned())?;
    let node = listen.and_then(|address| CString::new(address.to_string()).ok());
    // SAFETY: a fresh description with all its parts, as the library makes it; the name is freed with it.
    let hints = unsafe {
        let hints = (library.dupinfo)(null());
        if hints.is_null() {
            return Err("libfabric has no memory".to_owned());
        }
        (*hints).caps = FI_MSG | FI_RMA;
        (*hints).mode = FI_CONTEXT | FI_CONTEXT2;
        (*(*hints).ep_attr).kind = FI_EP_RDM;
        (*(*hints).fabric_attr).prov_name = libc::strdup(name.as_ptr());
        (*(*hints).tx_attr).msg_order = FI_ORDER_SAS;
        (*(*hints).rx_attr).msg_order = FI_ORDER_SAS;
        let domain = &mut *(*hints).domain_attr;
        domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
        domain.threading = FI_THREAD_DOMAIN;
        domain.resource_mgmt = FI_RM_ENABLED;
        hints
    };
    let ask = |node: Option<&CStr>| {
        let mut info = null_mut();
        let (text, flags) = node.map_or((null(), 0), |node| (node.as_ptr(), FI_SOURCE | FI_NUMERICHOST));
        // SAFETY: strings and a description for the time of the call, and a place for the answer.
        let answer = unsafe { (library.getinfo)(VERSION, text, null(), flags, hints, &mut info) };
        if answer == 0 && !info.is_null() { Ok(info) } else { Err(answer) }
    };
    // A network that does not go by addresses of the machine's interfaces has its own.
    let ask = || ask(node.as_deref()).or_else(|answer| if node.is_some() { ask(None) } else { Err(answer) });
    let found = ask().or_else(|_| {
        // Bodies are read where the provider can do that, and sent where it cannot.
        // SAFETY: made above.
        unsafe { (*hints).caps = FI_MSG };
        ask()
    });
    // SAFETY: made above.
    unsafe { (library.freeinfo)(hints) };
    found.map_err(|answer| {
        let why = library.error(answer as isize);
        format!("libfabric offers no provider {provider:?} here: {why} (fi_info lists them; RMA_OFI_PROVIDER names one)")
    })
}
