//! Info objects, their table, and how one is found.
//!
//! Keys and values are bytes, since C has no more to say about them. A key's place stays when its value changes; keys are
//! numbered in the order in which they came.

use super::environment;
use crate::abi::{MPI_INFO_ENV, MPI_INFO_NULL, MPI_Info};
use crate::handle::Table;
use parking_lot::Mutex;
use rma::{Error, ErrorClass, Result};

/// An info object.
#[derive(Debug, Default)]
pub(crate) struct Info(Mutex<Vec<(Vec<u8>, Vec<u8>)>>);

pub(crate) static INFOS: Table<MPI_Info, Info> = Table::new();

impl Info {
    pub(crate) fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let bytes = |(key, value): (&str, String)| (key.as_bytes().to_vec(), value.into_bytes());
        Self(Mutex::new(pairs.into_iter().map(bytes).collect()))
    }

    /// The value of a key, as text.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.value(key.as_bytes()).map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    pub(crate) fn value(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.lock().iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
    }

    pub(crate) fn set(&self, key: Vec<u8>, value: Vec<u8>) {
        let mut pairs = self.0.lock();
        match pairs.iter_mut().find(|(known, _)| *known == key) {
            Some(pair) => pair.1 = value,
            None => pairs.push((key, value)),
        }
    }

    /// Takes a key out; says whether it was there.
    pub(crate) fn delete(&self, key: &[u8]) -> bool {
        let mut pairs = self.0.lock();
        let before = pairs.len();
        pairs.retain(|(known, _)| known != key);
        pairs.len() < before
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(crate) fn key(&self, place: usize) -> Option<Vec<u8>> {
        self.0.lock().get(place).map(|(key, _)| key.clone())
    }
}

impl Clone for Info {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.0.lock().clone()))
    }
}

/// The info object of a handle.
///
/// # Errors
/// `MPI_ERR_INFO` when the handle is null, or of no info object.
pub(crate) fn get(info: MPI_Info) -> Result<&'static Info> {
    if info == MPI_INFO_ENV {
        return Ok(environment::of_process());
    }
    // SAFETY: MPI forbids to free an info object while another thread passes it to a call.
    unsafe { INFOS.get(info) }.ok_or_else(|| {
        let cause = match info {
            MPI_INFO_NULL => "info is MPI_INFO_NULL".to_owned(),
            info => format!("info {:#x} is no info object, or was freed", info.0),
        };
        Error::new(ErrorClass::Info, "", cause)
    })
}

/// As [`get`], for arguments that may be `MPI_INFO_NULL`, which has no keys.
///
/// # Errors
/// `MPI_ERR_INFO` when the handle is of no info object.
pub(crate) fn get_optional(info: MPI_Info) -> Result<Option<&'static Info>> {
    if info == MPI_INFO_NULL { Ok(None) } else { get(info).map(Some) }
}

/// Enters an info object.
///
/// # Errors
/// `MPI_ERR_NO_MEM` when no handle is left.
pub(crate) fn enter(info: Info) -> Result<MPI_Info> {
    INFOS
        .insert(info)
        .ok_or_else(|| Error::new(ErrorClass::NoMem, "", "no handle is left for another info object"))
}

/// As [`get`], for calls that change the object.
pub(crate) fn get_own(info: MPI_Info) -> Result<&'static Info> {
    match info {
        MPI_INFO_ENV => Err(Error::new(ErrorClass::Info, "", "MPI_INFO_ENV cannot be changed or freed")),
        info => get(info),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_places() {
        let info = Info::of([("b", "1".to_owned()), ("a", "2".to_owned())]);
        info.set(b"c".to_vec(), b"3".to_vec());
        info.set(b"b".to_vec(), b"\xff".to_vec());
        let copy = info.clone();
        let keys = |info: &Info| (0..=info.len()).map(|n| info.key(n)).collect::<Vec<_>>();
        assert_eq!(keys(&info), [Some(b"b".to_vec()), Some(b"a".to_vec()), Some(b"c".to_vec()), None]);
        assert_eq!(info.value(b"b").as_deref(), Some(&b"\xff"[..]));
        assert!(info.delete(b"a") && !info.delete(b"a"));
        assert_eq!(keys(&info), [Some(b"b".to_vec()), Some(b"c".to_vec()), None]);
        assert_eq!((copy.len(), copy.text("a").as_deref()), (3, Some("2")));
    }
}
