//! The buffers of collectives: elements in the program's memory, packed and stored.

use crate::abi::{MPI_Datatype, MPI_IN_PLACE};
use crate::arguments::{In, Memory, Wide, count};
use crate::datatype::{bytes, committed};
use crate::overlap::{Touched, check_apart};
use rma::raw::{Given, Take};
use rma::{Error, ErrorClass, Result};
use rma_core::datatype::{Datatype, Scatter};
use smallvec::SmallVec;

/// A number of elements at an address.
#[derive(Clone)]
pub(crate) struct Data {
    name: &'static str,
    memory: Memory,
    count: u64,
    datatype: Datatype,
    len: u64,
}

/// Room for packed bytes.
pub(crate) struct Room {
    name: &'static str,
    scatter: Scatter,
    /// The rank that gives what goes there, where that is one.
    giver: Option<u32>,
}

impl Data {
    pub(crate) fn new(
        name: &'static str,
        memory: Memory,
        number: impl Wide,
        datatype: MPI_Datatype,
    ) -> Result<Self> {
        let datatype = committed("datatype", datatype)?;
        let len = bytes("count", number, &datatype)?;
        Ok(Self { name, memory, count: count("count", number)?, datatype, len })
    }

    /// Bytes of data.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The elements, packed.
    pub(crate) fn pack(&self) -> Result<Vec<u8>> {
        let mut packed = vec![0; self.len as usize];
        self.memory.gather(self.name, self.count, &self.datatype)?.read(&mut packed);
        Ok(packed)
    }

    /// The elements where they lie.
    pub(crate) fn given(&self) -> Result<Given> {
        self.memory.gather(self.name, self.count, &self.datatype).map(Given::Memory)
    }

    /// Room for the elements.
    pub(crate) fn room(&self) -> Result<Room> {
        let scatter = self.memory.scatter(self.name, self.count, &self.datatype)?;
        Ok(Room { name: self.name, scatter, giver: None })
    }

    /// Room for the block of each rank.
    pub(crate) fn rooms(pieces: &[Self]) -> Result<Vec<Room>> {
        pieces.iter().zip(0..).map(|(piece, rank)| Ok(piece.room()?.of(rank))).collect()
    }

    /// The bytes that it is sure to touch.
    pub(crate) fn touched(&self) -> Option<Touched> {
        Touched::by(self.memory, self.count, &self.datatype)
    }

    /// Checks that what a rank gives and what it gets have no byte in common.
    pub(crate) fn check_apart(send: &[Self], recv: &[Self]) -> Result<()> {
        let pieces = |data: &'_ [Self]| data.iter().filter_map(Self::touched).collect::<SmallVec<[_; 2]>>();
        let (reads, writes) = (pieces(send), pieces(recv));
        check_apart(["sendbuf", "recvbuf"], reads.iter().copied(), writes.iter().copied())
    }

    /// `blocks` pieces of as many elements each, one behind the other.
    pub(crate) fn blocks(
        name: &'static str,
        memory: Memory,
        number: impl Wide,
        datatype: MPI_Datatype,
        blocks: usize,
    ) -> Result<Vec<Self>> {
        let first = Self::new(name, memory, number, datatype)?;
        let stride = (first.count as i64).checked_mul(first.datatype.extent());
        let offset = |i: usize| stride.and_then(|stride| stride.checked_mul(i as i64));
        // The last is the farthest.
        (0..blocks).next_back().map_or(Some(0), offset).ok_or_else(|| far(name))?;
        let at = |i| Self { memory: memory.offset(offset(i).unwrap_or_default()), ..first.clone() };
        Ok((0..blocks).map(at).collect())
    }

    /// Pieces of different lengths; displacements count elements.
    pub(crate) fn varying<C: Wide, D: Wide>(
        name: &'static str,
        memory: Memory,
        counts: In<C>,
        displs: In<D>,
        datatype: MPI_Datatype,
        blocks: usize,
    ) -> Result<Vec<Self>> {
        let (counts, displs) = (counts.many("counts", blocks)?, displs.many("displs", blocks)?);
        let extent = committed("datatype", datatype)?.extent();
        let place = |(number, displ): (C, D)| {
            let offset = displ.wide().checked_mul(extent).ok_or_else(|| far(name))?;
            Self::new(name, memory.offset(offset), number, datatype)
        };
        counts.into_iter().zip(displs).map(place).collect()
    }

    /// Pieces of different lengths and types; displacements count bytes.
    pub(crate) fn of_types<C: Wide, D: Wide>(
        name: &'static str,
        memory: Memory,
        counts: In<C>,
        displs: In<D>,
        types: In<MPI_Datatype>,
        blocks: usize,
    ) -> Result<Vec<Self>> {
        let (counts, displs) = (counts.many("counts", blocks)?, displs.many("displs", blocks)?);
        let types = types.many("types", blocks)?;
        let places = counts.into_iter().zip(displs).zip(types);
        places.map(|((number, displ), ty)| Self::new(name, memory.offset(displ.wide()), number, ty)).collect()
    }
}

impl Room {
    /// The room for what this rank gives.
    pub(crate) fn of(self, giver: u32) -> Self {
        Self { giver: Some(giver), ..self }
    }

    /// Stores what has arrived.
    ///
    /// # Errors
    /// `MPI_ERR_TRUNCATE`, with nothing stored, when it is not as much as there is room for: in collectives both have to be
    /// equal (MPI 5.0 §6.1).
    pub(crate) fn store(&mut self, packed: &[u8]) -> Result<()> {
        self.check(packed)?;
        self.scatter.write(packed);
        Ok(())
    }

    /// The memory.
    pub(crate) fn memory(&self) -> Scatter {
        self.scatter.clone()
    }

    /// The memory, for what is received there alone.
    pub(crate) fn into_memory(self) -> Scatter {
        self.scatter
    }

    /// The memory, for a block to be received there.
    pub(crate) fn take(&self) -> Take {
        Take::to(&self.scatter)
    }

    /// Stores blocks of those ranks whose blocks are not in their rooms already, or, when one of them is not as long as its
    /// room, none.
    ///
    /// # Errors
    /// As [`Room::store`].
    pub(crate) fn store_rest(rooms: &mut [Self], blocks: &[Option<Vec<u8>>]) -> Result<()> {
        let mut rest: SmallVec<[_; 8]> =
            rooms.iter_mut().zip(blocks).filter_map(|(room, block)| Some((room, block.as_ref()?))).collect();
        rest.iter().try_for_each(|(room, block)| room.check(block))?;
        rest.iter_mut().try_for_each(|(room, block)| room.store(block))
    }

    /// Stores what has arrived where there is both room and news.
    ///
    /// # Errors
    /// As [`Room::store`].
    pub(crate) fn store_in(room: &mut Option<Self>, news: Option<Vec<u8>>) -> Result<()> {
        match (room, news) {
            (Some(room), Some(news)) => room.store(&news),
            _ => Ok(()),
        }
    }

    /// Stores a block in each of some rooms, or, when one of them is not as long as its room, none.
    ///
    /// # Errors
    /// As [`Room::store`].
    pub(crate) fn store_all(rooms: &mut [Self], blocks: &[Vec<u8>]) -> Result<()> {
        rooms.iter().zip(blocks).try_for_each(|(room, block)| room.check(block))?;
        rooms.iter_mut().zip(blocks).try_for_each(|(room, block)| room.store(block))
    }

    fn check(&self, packed: &[u8]) -> Result<()> {
        let (len, room) = (packed.len(), self.scatter.remaining());
        if len as u64 == room {
            return Ok(());
        }
        let come = match self.giver {
            Some(rank) => format!("rank {rank} gives {len} bytes for {} of this rank", self.name),
            None => format!("{len} bytes have come for {}", self.name),
        };
        let more = if (len as u64) < room { "less" } else { "more" };
        let cause = format!(
            "{come}, {more} than the {room} that its arguments say: in a collective both must be the same"
        );
        Err(Error::new(ErrorClass::Truncate, "", cause))
    }
}

/// Whether a buffer is `MPI_IN_PLACE`.
pub(crate) fn is_in_place(memory: Memory) -> bool {
    memory.address() == MPI_IN_PLACE
}

#[cold]
fn far(name: &str) -> Error {
    Error::new(ErrorClass::Count, "", format!("a block of {name} is more than 2^63 bytes away"))
}
