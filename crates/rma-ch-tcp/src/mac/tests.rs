//! Both libraries give the bytes of the standard.

/// The second case of RFC 4231, in pieces.
macro_rules! the_bytes_are_those_of_the_standard {
    ($mac:ty) => {
        let mut mac = <$mac>::new(b"Jefe");
        mac.update(b"what do ya want ");
        let fork = mac.clone();
        mac.update(b"for nothing?");
        let bytes = mac.clone().finish();
        assert_eq!(bytes[..8], [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e]);
        assert_eq!(bytes[24..], [0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43]);
        assert_ne!(fork.finish(), bytes);
        for len in [16, 32] {
            assert!(mac.clone().begins_with(&bytes[..len]));
            for at in 0..len {
                let mut wrong = bytes;
                wrong[at] ^= 1;
                assert!(!mac.clone().begins_with(&wrong[..len]), "byte {at}");
            }
        }
        assert!(!mac.clone().begins_with(&[]), "no bytes prove nothing");
        assert!(!mac.begins_with(&[bytes, bytes].concat()));
    };
}

#[test]
fn portable() {
    the_bytes_are_those_of_the_standard!(super::portable::PortableMac);
}

#[cfg(feature = "accelerated")]
#[test]
fn accelerated() {
    the_bytes_are_those_of_the_standard!(super::accelerated::AcceleratedMac);
}
