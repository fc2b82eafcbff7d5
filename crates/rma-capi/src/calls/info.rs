//! `MPI_Info_*` (MPI 5.0 §10). All of them may be called at any time, also before MPI is initialized.

use crate::abi::*;
use crate::arguments::{In, Out, Text, TextOut, len, negative};
use crate::entry::{call_any_time, plain};
use crate::info::{INFOS, Info, describe, enter, get, get_own};
use rma::{Error, ErrorClass, Result};
use std::ffi::c_int;

plain! {
    /// `MPI_Info_create`.
    fn MPI_Info_create(info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Info_create", || enter_into(Info::default(), info))
    }

    /// `MPI_Info_create_env`: what is known of a process that was started with these arguments.
    fn MPI_Info_create_env(argc: c_int, argv: In<Text>, info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Info_create_env", || {
            let argv = argv.many("argv", len("argc", argc)?)?;
            let texts = argv.into_iter().map(|text| text.get("argv", usize::MAX, ErrorClass::Arg));
            enter_into(describe(texts.collect::<Result<Vec<_>>>()?), info)
        })
    }

    /// `MPI_Info_dup`.
    fn MPI_Info_dup(info: MPI_Info, newinfo: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Info_dup", || enter_into(get(info)?.clone(), newinfo))
    }

    /// `MPI_Info_free`.
    fn MPI_Info_free(info: Out<MPI_Info>) -> c_int {
        call_any_time("MPI_Info_free", || {
            let handle = info.current().one("info")?;
            get_own(handle)?;
            INFOS.remove(handle);
            info.set("info", MPI_INFO_NULL)
        })
    }

    /// `MPI_Info_set`.
    fn MPI_Info_set(info: MPI_Info, key: Text, value: Text) -> c_int {
        call_any_time("MPI_Info_set", || {
            let info = get_own(info)?;
            let key = key_of(key)?;
            let value = value.bytes("value", MPI_MAX_INFO_VAL as usize - 1, ErrorClass::InfoValue)?;
            info.set(key, value);
            Ok(())
        })
    }

    /// `MPI_Info_delete`.
    fn MPI_Info_delete(info: MPI_Info, key: Text) -> c_int {
        call_any_time("MPI_Info_delete", || {
            let info = get_own(info)?;
            let key = key_of(key)?;
            match info.delete(&key) {
                true => Ok(()),
                false => {
                    let cause = format!("the info object has no key {:?}", String::from_utf8_lossy(&key));
                    Err(Error::new(ErrorClass::InfoNokey, "", cause))
                }
            }
        })
    }

    /// `MPI_Info_get` (deprecated): `valuelen` does not count the end of the text.
    fn MPI_Info_get(info: MPI_Info, key: Text, valuelen: c_int, value: TextOut, flag: Out<c_int>) -> c_int {
        call_any_time("MPI_Info_get", || {
            let room = usize::try_from(valuelen)
                .map_err(|_| negative(ErrorClass::Arg, "valuelen", valuelen.into()))?;
            let found = get(info)?.value(&key_of(key)?);
            flag.set("flag", found.is_some().into())?;
            match found {
                Some(found) => value.set_bytes("value", &found, room + 1).map(drop),
                None => Ok(()),
            }
        })
    }

    /// `MPI_Info_get_string`: `buflen` is the room, end of the text included, and becomes the room that is needed.
    fn MPI_Info_get_string(
        info: MPI_Info,
        key: Text,
        buflen: Out<c_int>,
        value: TextOut,
        flag: Out<c_int>,
    ) -> c_int {
        call_any_time("MPI_Info_get_string", || {
            let room = buflen.current().one("buflen")?;
            let room = usize::try_from(room).map_err(|_| negative(ErrorClass::Arg, "buflen", room.into()))?;
            let found = get(info)?.value(&key_of(key)?);
            flag.set("flag", found.is_some().into())?;
            let Some(found) = found else { return Ok(()) };
            if room > 0 {
                value.set_bytes("value", &found, room)?;
            }
            buflen.set("buflen", found.len() as c_int + 1)
        })
    }

    /// `MPI_Info_get_valuelen` (deprecated).
    fn MPI_Info_get_valuelen(info: MPI_Info, key: Text, valuelen: Out<c_int>, flag: Out<c_int>) -> c_int {
        call_any_time("MPI_Info_get_valuelen", || {
            let found = get(info)?.value(&key_of(key)?);
            flag.set("flag", found.is_some().into())?;
            match found {
                Some(found) => valuelen.set("valuelen", found.len() as c_int),
                None => Ok(()),
            }
        })
    }

    /// `MPI_Info_get_nkeys`.
    fn MPI_Info_get_nkeys(info: MPI_Info, nkeys: Out<c_int>) -> c_int {
        call_any_time("MPI_Info_get_nkeys", || nkeys.set("nkeys", get(info)?.len() as c_int))
    }

    /// `MPI_Info_get_nthkey`.
    fn MPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: TextOut) -> c_int {
        call_any_time("MPI_Info_get_nthkey", || {
            let info = get(info)?;
            let found = usize::try_from(n).ok().and_then(|n| info.key(n)).ok_or_else(|| {
                Error::new(ErrorClass::Arg, "", format!("n is {n}, but there are {} keys", info.len()))
            })?;
            key.set_bytes("key", &found, MPI_MAX_INFO_KEY as usize).map(drop)
        })
    }
}

fn enter_into(info: Info, place: Out<MPI_Info>) -> Result<()> {
    place.check("info")?;
    place.set("info", enter(info)?)
}

fn key_of(key: Text) -> Result<Vec<u8>> {
    let key = key.bytes("key", MPI_MAX_INFO_KEY as usize - 1, ErrorClass::InfoKey)?;
    match key.is_empty() {
        false => Ok(key),
        true => Err(Error::new(ErrorClass::InfoKey, "", "key is empty")),
    }
}
