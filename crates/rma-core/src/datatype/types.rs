//! Datatypes: what a program says about its memory (MPI 5.0 chapter 5), as immutable values.
//!
//! A [`Datatype`] is a layout with bounds: which bytes of one element are data, in which order, and how far it is from one
//! element to the next. It may be dropped as soon as a call has returned: whatever still needs the layout shares it. Being
//! committed is the business of the library above, as are envelopes, names and attributes.
//!
//! Bounds follow the standard's definition (§5.1): a type that was given bounds by [`Datatype::resized`] hands them on to
//! all types made from it; otherwise the extent is the distance between the first and the last byte, rounded up to the
//! strictest alignment of its basic types. All arithmetic is checked: what does not fit 63 bits is an error, never a wrap.

use super::basic::BasicType;
use super::layout::Layout;
use super::transfer::{Gather, Scatter};
use crate::error::{Error, ErrorClass, Result};
use std::fmt;
use std::sync::Arc;

/// A datatype. Clones share everything.
#[derive(Clone)]
pub struct Datatype(Arc<Node>);

#[derive(Debug)]
struct Node {
    /// The data bytes of one element.
    layout: Layout,
    bounds: Bounds,
    /// What the data consists of.
    content: Content,
    /// The size, when elements lie side by side without holes.
    dense: Option<u64>,
}

/// Where an element begins and ends when elements are put one behind another.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Where it begins and ends by an explicit mark, if there is one.
    lower_mark: Option<i64>,
    upper_mark: Option<i64>,
    /// Strictest alignment of the basic types.
    align: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Nothing,
    Only(BasicType),
    Mixed,
}

/// A number of elements of one type at a displacement in bytes: a field of [`Datatype::structure`].
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Number of elements.
    pub count: u64,
    /// Displacement of the first one in bytes.
    pub offset: i64,
    /// Their type.
    pub ty: &'a Datatype,
}

/// Why a type cannot be made: it would not fit 63 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl Datatype {
    /// One element of a basic type.
    pub fn basic(ty: BasicType) -> Self {
        let layout = Layout::blocks(ty.parts().iter().copied()).expect("an element of a basic type is small");
        let bounds = Bounds { align: ty.align() as u64, ..Bounds::NATURAL };
        Self::of(layout, bounds, Content::Only(ty))
    }

    /// No data, and where an element of each type begins that is made from it (`MPI_LB` of MPI-1).
    pub fn lower_mark() -> Self {
        Self::mark(Bounds { lower_mark: Some(0), ..Bounds::NATURAL })
    }

    /// No data, and where an element of each type ends that is made from it (`MPI_UB` of MPI-1).
    pub fn upper_mark() -> Self {
        Self::mark(Bounds { upper_mark: Some(0), ..Bounds::NATURAL })
    }

    fn mark(bounds: Bounds) -> Self {
        Self::of(Layout::contiguous(0), bounds, Content::Nothing)
    }

    /// `MPI_Type_contiguous`: `count` elements one behind the other.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when the size or a displacement does not fit 63 bits; so do all constructors.
    pub fn contiguous(count: u64, base: &Self) -> Result<Self> {
        base.fields([(count, 0)]).map_err(|error| error.in_call("type_contiguous"))
    }

    /// `MPI_Type_vector`: `count` blocks of `block_len` elements, `stride` elements from one block to the next.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn vector(count: u64, block_len: u64, stride: i64, base: &Self) -> Result<Self> {
        const CALL: &str = "type_vector";
        let stride = stride.checked_mul(base.extent()).ok_or_else(|| TooLarge.into_error(CALL))?;
        Self::hvector(count, block_len, stride, base).map_err(|error| error.in_call(CALL))
    }

    /// `MPI_Type_create_hvector`: `count` blocks of `block_len` elements, `stride` bytes from one block to the next.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn hvector(count: u64, block_len: u64, stride: i64, base: &Self) -> Result<Self> {
        const CALL: &str = "type_create_hvector";
        let block = base.fields([(block_len, 0)]).map_err(|error| error.in_call(CALL))?;
        let layout = block.0.layout.repeated(count, stride);
        let bounds = block.0.bounds.spread([(count, 0)], stride);
        block.derive(layout, bounds, count > 0, CALL)
    }

    /// `MPI_Type_indexed`: for each (length, displacement) of `blocks` so many elements, displaced by so many elements.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn indexed(blocks: impl IntoIterator<Item = (u64, i64)>, base: &Self) -> Result<Self> {
        base.scaled("type_indexed", blocks)
    }

    /// `MPI_Type_create_hindexed`: as [`Datatype::indexed`], displaced by so many bytes.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn hindexed(blocks: impl IntoIterator<Item = (u64, i64)>, base: &Self) -> Result<Self> {
        base.fields(blocks).map_err(|error| error.in_call("type_create_hindexed"))
    }

    /// `MPI_Type_create_indexed_block`: blocks of `block_len` elements, each displaced by so many elements.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn indexed_block(
        block_len: u64,
        displacements: impl IntoIterator<Item = i64>,
        base: &Self,
    ) -> Result<Self> {
        base.scaled("type_create_indexed_block", displacements.into_iter().map(|at| (block_len, at)))
    }

    /// `MPI_Type_create_hindexed_block`: as [`Datatype::indexed_block`], displaced by so many bytes.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn hindexed_block(
        block_len: u64,
        displacements: impl IntoIterator<Item = i64>,
        base: &Self,
    ) -> Result<Self> {
        base.fields(displacements.into_iter().map(|at| (block_len, at)))
            .map_err(|error| error.in_call("type_create_hindexed_block"))
    }

    /// `MPI_Type_create_struct`: the fields in order.
    ///
    /// # Errors
    /// As [`Datatype::contiguous`].
    pub fn structure<'a>(fields: impl IntoIterator<Item = Field<'a>>) -> Result<Self> {
        Self::sequence(fields).map_err(|error| error.in_call("type_create_struct"))
    }

    /// `MPI_Type_create_resized`: the same data with a lower bound and an extent of the caller's.
    ///
    /// # Errors
    /// `MPI_ERR_ARG` when the upper bound does not fit 63 bits.
    pub fn resized(lower_bound: i64, extent: i64, base: &Self) -> Result<Self> {
        let Some(upper) = lower_bound.checked_add(extent) else {
            let cause = format!("lower bound {lower_bound} and extent {extent} add up to more than 2^63");
            return Err(Error::new(ErrorClass::Arg, "type_create_resized", cause));
        };
        let Node { layout, bounds, content, .. } = &*base.0;
        let bounds = Bounds { lower_mark: Some(lower_bound), upper_mark: Some(upper), ..*bounds };
        Ok(Self::of(layout.clone(), bounds, *content))
    }

    /// `MPI_Type_dup`: a type of its own with the same content.
    #[must_use]
    pub fn dup(&self) -> Self {
        let Node { layout, bounds, content, .. } = &*self.0;
        Self::of(layout.clone(), *bounds, *content)
    }

    /// Bytes of data in one element (`MPI_Type_size`).
    pub fn size(&self) -> u64 {
        self.0.layout.size()
    }

    /// Where an element begins when elements are put one behind another (`MPI_Type_get_extent`).
    pub fn lower_bound(&self) -> i64 {
        self.0.bounds.lower(&self.0.layout)
    }

    /// Distance from one element to the next (`MPI_Type_get_extent`). Negative after a [`Datatype::resized`] that said so.
    pub fn extent(&self) -> i64 {
        // The constructor has checked that it fits.
        self.0.bounds.extent(&self.0.layout).unwrap_or_default()
    }

    /// Offset of the lowest data byte (`MPI_Type_get_true_extent`); 0 when there is none.
    pub fn true_lower_bound(&self) -> i64 {
        self.0.layout.bounds().0
    }

    /// Distance from the lowest data byte to behind the highest (`MPI_Type_get_true_extent`).
    pub fn true_extent(&self) -> i64 {
        let (low, high) = self.0.layout.bounds();
        high - low
    }

    /// The basic type that all data consists of; `None` when there are several, or the type was made of none at all.
    #[inline]
    pub fn basic_type(&self) -> Option<BasicType> {
        match self.0.content {
            Content::Only(ty) => Some(ty),
            Content::Nothing | Content::Mixed => None,
        }
    }

    /// The bytes of `count` elements, in the order of a transfer, relative to the address that a call is given.
    ///
    /// # Errors
    /// `MPI_ERR_COUNT` when their number or an offset does not fit 63 bits. The caller puts its own call into the error.
    pub fn layout(&self, count: u64) -> Result<Layout> {
        let repeated = match self.dense_len(count) {
            Some(len) => Some(Layout::contiguous(len)),
            None => self.0.layout.repeated(count, self.extent()),
        };
        repeated.ok_or_else(|| self.too_many(count))
    }

    /// As [`Datatype::layout`] for a call, not copied where it is the type's, and otherwise put into `own`.
    ///
    /// # Errors
    /// As [`Datatype::layout`].
    #[inline(always)] // what is not made by loops costs a few stores
    pub(crate) fn elements_in<'a>(
        &'a self,
        call: &'static str,
        count: u64,
        own: &'a mut Option<Layout>,
    ) -> Result<&'a Layout> {
        if count == 1 {
            Ok(&self.0.layout)
        } else if let Some(len) = self.dense_len(count) {
            Ok(own.insert(Layout::contiguous(len)))
        } else {
            let made = self.layout(count).map_err(|error| error.in_call(call))?;
            Ok(own.insert(made))
        }
    }

    #[cold]
    fn too_many(&self, count: u64) -> Error {
        let (size, extent) = (self.size(), self.extent());
        let cause = format!("{count} elements of {size} bytes, {extent} apart, do not fit 63 bits");
        Error::new(ErrorClass::Count, "datatype", cause)
    }

    /// Number of bytes of `count` elements when they lie side by side from the address on that a call is given; `None`
    /// otherwise, and when there are more than fit 63 bits.
    #[inline]
    pub fn dense_len(&self, count: u64) -> Option<u64> {
        let len = self.0.dense?.checked_mul(count)?;
        (len <= i64::MAX as u64).then_some(len)
    }

    /// The data of `count` elements at `base`, to be read piece by piece (`MPI_Pack`).
    ///
    /// # Errors
    /// As [`Datatype::layout`].
    ///
    /// # Safety
    /// As [`Gather::new`] for the bytes of [`Datatype::layout`].
    pub unsafe fn gather(&self, base: *const u8, count: u64) -> Result<Gather> {
        let layout = self.layout(count)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { Gather::new(base, layout) })
    }

    /// Room for the data of `count` elements at `base`, to be written piece by piece (`MPI_Unpack`).
    ///
    /// # Errors
    /// As [`Datatype::layout`].
    ///
    /// # Safety
    /// As [`Scatter::new`] for the bytes of [`Datatype::layout`].
    pub unsafe fn scatter(&self, base: *mut u8, count: u64) -> Result<Scatter> {
        let layout = self.layout(count)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { Scatter::new(base, layout) })
    }

    /// Of a type without data nothing is content: a block of no elements is no entry of a type map (MPI 5.0 §5.1.2).
    fn of(layout: Layout, bounds: Bounds, content: Content) -> Self {
        let content = if layout.size() == 0 { Content::Nothing } else { content };
        let dense = Node::dense_size(&layout, &bounds);
        Self(Arc::new(Node { layout, bounds, content, dense }))
    }

    /// The data bytes of one element.
    pub(super) fn element(&self) -> &Layout {
        &self.0.layout
    }

    /// A type of the same content with another layout, and bounds that are given.
    pub(super) fn with_layout(
        &self,
        layout: Option<Layout>,
        lower_bound: i64,
        extent: i64,
        call: &'static str,
    ) -> Result<Self> {
        let upper = lower_bound.checked_add(extent);
        let (Some(layout), Some(upper)) = (layout, upper) else { return Err(TooLarge.into_error(call)) };
        let bounds = Bounds { lower_mark: Some(lower_bound), upper_mark: Some(upper), ..self.0.bounds };
        Ok(Self::of(layout, bounds, self.0.content))
    }

    /// Blocks of elements of this type, displaced by elements.
    fn scaled(&self, call: &'static str, blocks: impl IntoIterator<Item = (u64, i64)>) -> Result<Self> {
        let extent = self.extent();
        let mut fits = true;
        let scaled = blocks.into_iter().map(|(len, at)| {
            let offset = at.checked_mul(extent);
            fits &= offset.is_some();
            (len, offset.unwrap_or_default())
        });
        let made = self.fields(scaled);
        if fits { made.map_err(|error| error.in_call(call)) } else { Err(TooLarge.into_error(call)) }
    }

    /// Blocks of elements of this type, displaced by bytes.
    fn fields(&self, blocks: impl IntoIterator<Item = (u64, i64)>) -> Result<Self> {
        match self.0.dense {
            Some(_) if self.0.bounds.are_natural() => self.runs(blocks),
            _ => Self::sequence(blocks.into_iter().map(|(count, offset)| Field { count, offset, ty: self })),
        }
    }

    /// The same, of elements that lie side by side: each block is a run.
    fn runs(&self, blocks: impl IntoIterator<Item = (u64, i64)>) -> Result<Self> {
        let mut too_many = None;
        let runs = blocks.into_iter().map(|(count, offset)| {
            let len = self.dense_len(count);
            if len.is_none() {
                too_many = Some(count);
            }
            // Of a length that does not fit nothing is made.
            (offset, len.unwrap_or(u64::MAX))
        });
        let layout = Layout::blocks(runs);
        if let Some(count) = too_many {
            return Err(self.too_many(count));
        }
        let bounds = |layout: &Layout| if layout.size() == 0 { Bounds::NATURAL } else { self.0.bounds };
        let layout = layout.filter(|layout| bounds(layout).extent(layout).is_some());
        let Some(layout) = layout else { return Err(TooLarge.into_error("datatype")) };
        let bounds = bounds(&layout);
        Ok(Self::of(layout, bounds, self.0.content))
    }

    fn sequence<'a>(fields: impl IntoIterator<Item = Field<'a>>) -> Result<Self> {
        const CALL: &str = "datatype";
        let mut parts = Vec::new();
        let mut bounds = Bounds::NATURAL;
        let mut content = Content::Nothing;
        for Field { count, offset, ty } in fields {
            if count == 0 {
                continue;
            }
            content = content.with(ty.0.content);
            let spread = ty.0.bounds.spread([(count, offset)], ty.extent());
            bounds = bounds.with(spread.ok_or_else(|| TooLarge.into_error(CALL))?);
            let layout = ty.layout(count)?.shifted(offset).ok_or_else(|| TooLarge.into_error(CALL))?;
            parts.push(layout);
        }
        let Some(layout) = Layout::sequence(parts) else { return Err(TooLarge.into_error(CALL)) };
        if bounds.extent(&layout).is_none() {
            return Err(TooLarge.into_error(CALL));
        }
        Ok(Self::of(layout, bounds, content))
    }

    fn derive(
        &self,
        layout: Option<Layout>,
        bounds: Option<Bounds>,
        has_elements: bool,
        call: &'static str,
    ) -> Result<Self> {
        let (Some(layout), Some(bounds)) = (layout, bounds) else { return Err(TooLarge.into_error(call)) };
        let bounds = if has_elements { bounds } else { Bounds::NATURAL };
        if bounds.extent(&layout).is_none() {
            return Err(TooLarge.into_error(call));
        }
        Ok(Self::of(layout, bounds, self.0.content))
    }
}

impl Node {
    fn dense_size(layout: &Layout, bounds: &Bounds) -> Option<u64> {
        let run = layout.as_contiguous().filter(|run| run.offset == 0)?;
        (bounds.extent(layout) == i64::try_from(run.len).ok()).then_some(run.len)
    }
}

impl Bounds {
    /// Of no data, without marks.
    const NATURAL: Self = Self { lower_mark: None, upper_mark: None, align: 1 };

    /// Whether they are those of the data.
    fn are_natural(&self) -> bool {
        self.lower_mark.is_none() && self.upper_mark.is_none()
    }

    fn lower(&self, layout: &Layout) -> i64 {
        self.lower_mark.unwrap_or_else(|| layout.bounds().0)
    }

    /// `None` when it does not fit 63 bits.
    fn extent(&self, layout: &Layout) -> Option<i64> {
        let lower = i128::from(self.lower(layout));
        let extent = match self.upper_mark {
            Some(upper) => i128::from(upper) - lower,
            None => {
                let natural = i128::from(layout.bounds().1) - lower;
                let align = i128::from(self.align);
                // A lower mark behind the last byte makes this negative; then there is nothing to be rounded up.
                if natural > 0 { (natural + align - 1) / align * align } else { natural }
            }
        };
        i64::try_from(extent).ok()
    }

    /// The bounds of blocks of elements: for each, number and displacement of the first, `step` bytes from one to the
    /// next. `None` when a bound does not fit 63 bits.
    fn spread(self, blocks: impl IntoIterator<Item = (u64, i64)>, step: i64) -> Option<Self> {
        let (mut low, mut high) = (None::<i128>, None::<i128>);
        for (count, offset) in blocks.into_iter().filter(|(count, _)| *count > 0) {
            let first = i128::from(offset);
            let last = first + i128::from(count - 1) * i128::from(step);
            low = Some(low.map_or(first.min(last), |low| low.min(first).min(last)));
            high = Some(high.map_or(first.max(last), |high| high.max(first).max(last)));
        }
        let moved = |mark: Option<i64>, by: Option<i128>| match (mark, by) {
            (Some(mark), Some(by)) => i64::try_from(i128::from(mark) + by).ok().map(Some),
            _ => Some(None),
        };
        Some(Self {
            lower_mark: moved(self.lower_mark, low)?,
            upper_mark: moved(self.upper_mark, high)?,
            align: self.align,
        })
    }

    /// The bounds of both together.
    fn with(self, other: Self) -> Self {
        let either = |a: Option<i64>, b: Option<i64>, choose: fn(i64, i64) -> i64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            _ => a.or(b),
        };
        Self {
            lower_mark: either(self.lower_mark, other.lower_mark, i64::min),
            upper_mark: either(self.upper_mark, other.upper_mark, i64::max),
            align: self.align.max(other.align),
        }
    }
}

impl Content {
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, content) | (content, Self::Nothing) => content,
            (a, b) if a == b => a,
            _ => Self::Mixed,
        }
    }
}

impl TooLarge {
    #[cold]
    pub(super) fn into_error(self, call: &'static str) -> Error {
        Error::new(ErrorClass::Count, call, "the size or a displacement of the type does not fit 63 bits")
    }
}

impl fmt::Debug for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, extent) = (self.lower_bound(), self.extent());
        write!(f, "Datatype({} bytes of {:?}, extent {low}..+{extent})", self.size(), self.0.content)
    }
}
