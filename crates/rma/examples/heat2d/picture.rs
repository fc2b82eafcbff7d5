//! Temperatures as a PNG file: one byte per pixel, and a palette from dark to bright.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Longest side of a picture.
const MOST_PIXELS: usize = 1024;

/// The file of a picture, opened before there is one, so that a place that refuses is found before the work.
#[derive(Debug)]
pub(crate) struct PictureFile {
    path: PathBuf,
    file: File,
    /// Nothing was there, and nothing shall be until the picture is written.
    is_new: bool,
}

/// Colours at equal distances from cold to hot, between which the palette is linear. Brightness grows all the way, so the
/// picture reads in grey as well.
const COLOURS: [[u8; 3]; 7] = [
    [4, 6, 24],
    [40, 20, 96],
    [120, 28, 110],
    [196, 50, 76],
    [240, 108, 40],
    [252, 184, 60],
    [252, 252, 210],
];

impl PictureFile {
    /// Opens the file; a picture that is there stays until the next is written.
    ///
    /// # Errors
    /// When it cannot be written, with its path.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let is_new = path.symlink_metadata().is_err();
        let file = File::options().write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| refused(path, &error))?;
        Ok(Self { path: path.to_owned(), file, is_new })
    }

    /// Writes temperatures from 0 to 1, rows of `cols` values each.
    ///
    /// # Errors
    /// When the disk is full, say.
    pub(crate) fn write(mut self, cells: &[f64], cols: usize) -> Result<(), String> {
        self.put(cells, cols).map_err(|error| refused(&self.path, &error))?;
        self.is_new = false;
        Ok(())
    }

    fn put(&self, cells: &[f64], cols: usize) -> io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        let mut out = BufWriter::new(&self.file);
        write_png(&mut out, cells, cols, 0.0..=1.0, MOST_PIXELS)?;
        // What is left in the buffer may be all there is.
        out.flush()
    }
}

impl Drop for PictureFile {
    fn drop(&mut self) {
        if self.is_new {
            // It holds nothing, or a part of a picture; a failure to remove it cannot be reported.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> String {
    format!("the picture {} cannot be written: {error}", path.display())
}

/// Writes `cells`, rows of `cols` values each. Values outside the range get the colour of its nearer end. Plates larger
/// than `most_pixels` on a side are shrunk by a whole factor, each pixel the mean of its cells.
///
/// # Errors
/// What writing gives, and `InvalidInput` when there are no cells or the last row is not complete.
pub(crate) fn write_png(
    out: impl Write,
    cells: &[f64],
    cols: usize,
    range: RangeInclusive<f64>,
    most_pixels: usize,
) -> io::Result<()> {
    if cols == 0 || cells.is_empty() || !cells.len().is_multiple_of(cols) {
        let message = format!("{} cells do not make rows of {cols}", cells.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let rows = cells.len() / cols;
    let factor = rows.max(cols).div_ceil(most_pixels.max(1));
    let (width, height) = (cols.div_ceil(factor), rows.div_ceil(factor));
    let too_large = |_| io::Error::new(io::ErrorKind::InvalidInput, "more pixels than a PNG file can have");
    let mut encoder = png::Encoder::new(
        out,
        u32::try_from(width).map_err(too_large)?,
        u32::try_from(height).map_err(too_large)?,
    );
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels(cells, cols, &range, factor))?;
    Ok(writer.finish()?)
}

/// The pixels row by row, as places in the palette.
fn pixels(cells: &[f64], cols: usize, range: &RangeInclusive<f64>, factor: usize) -> Vec<u8> {
    let mut pixels = Vec::new();
    for band in cells.chunks(cols * factor) {
        for start in (0..cols).step_by(factor) {
            let width = factor.min(cols - start);
            let block = band.chunks_exact(cols).flat_map(|row| &row[start..start + width]);
            let count = width * (band.len() / cols);
            pixels.push(place(block.sum::<f64>() / count as f64, range));
        }
    }
    pixels
}

/// A value's place in the palette.
fn place(value: f64, range: &RangeInclusive<f64>) -> u8 {
    let share = (value - range.start()) / (range.end() - range.start());
    // The conversion saturates, and takes what is not a number (a range of one value) for 0.
    (share * 255.0).round() as u8
}

/// Red, green and blue of each place.
fn palette() -> Vec<u8> {
    let steps = COLOURS.len() - 1;
    (0..256usize)
        .flat_map(|place| {
            let (index, part) = ((place * steps) / 255, (place * steps) % 255);
            let (from, to) = (COLOURS[index], COLOURS[(index + 1).min(steps)]);
            [0, 1, 2].map(|i| ((usize::from(from[i]) * (255 - part) + usize::from(to[i]) * part) / 255) as u8)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> (u32, u32, Vec<u8>) {
        let mut decoder = png::Decoder::new(io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::IDENTITY);
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, png::ColorType::Indexed);
        assert_eq!(reader.info().palette.as_ref().unwrap().len(), 3 * 256);
        (info.width, info.height, pixels)
    }

    #[test]
    fn a_picture_comes_back_as_it_was() {
        let mut file = Vec::new();
        write_png(&mut file, &[0.0, 0.5, 1.0, -3.0, 7.0, f64::NAN], 3, 0.0..=1.0, 100).unwrap();
        assert_eq!(decode(&file), (3, 2, vec![0, 128, 255, 0, 255, 0]));
    }

    #[test]
    fn large_plates_are_shrunk_to_means() {
        let mut file = Vec::new();
        // 3 rows of 5, at most 3 pixels: factor 2, with narrower pixels at the far edges.
        let cells = [0., 1., 1., 1., 0., 1., 0., 1., 1., 1., 1., 0., 0., 0., 1.];
        write_png(&mut file, &cells, 5, 0.0..=1.0, 3).unwrap();
        assert_eq!(decode(&file), (3, 2, vec![128, 255, 128, 128, 0, 255]));
    }

    #[test]
    fn cells_that_make_no_picture_are_refused() {
        for (count, cols) in [(0, 3), (4, 3), (4, 0)] {
            let error = write_png(io::sink(), &vec![0.0; count], cols, 0.0..=1.0, 10).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{count}, {cols}");
        }
    }

    #[test]
    fn the_palette_grows_brighter_from_end_to_end() {
        let palette = palette();
        assert_eq!((palette.len(), &palette[..3], &palette[765..]), (768, &COLOURS[0][..], &COLOURS[6][..]));
        let brightness: Vec<u32> = palette
            .chunks_exact(3)
            .map(|c| 299 * u32::from(c[0]) + 587 * u32::from(c[1]) + 114 * u32::from(c[2]))
            .collect();
        assert!(brightness.windows(2).all(|w| w[0] <= w[1] + 1000), "{brightness:?}");
        assert!(brightness.windows(40).all(|w| w[0] < w[39]));
    }
}
