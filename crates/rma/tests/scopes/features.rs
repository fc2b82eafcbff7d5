//! Elements and arrays of other crates.

use super::on_both_paths;
use half::f16;
use ndarray::{Array2, Array3, s};
use num_complex::Complex;
use rma::window::{Layout, Plain, Pod};
use rma::{ErrorClass, ReduceOp};

#[test]
fn elements_of_other_crates_are_put_and_combined() {
    on_both_paths(4, |world| {
        let right = (world.rank() + 1) % 4;
        let mut halves = world.allocate::<f16>(1)?;
        halves.fence_epoch(|epoch| epoch.put_value(f16::from_f32(1.5), right, 0))?;
        assert_eq!(halves.local().get(0).to_f32(), 1.5);
        halves.free()?;

        let mut sums = world.allocate::<Complex<f64>>(1)?;
        let mine = Complex::new(1.0, f64::from(world.rank()));
        sums.fence_epoch(|epoch| epoch.accumulate_value(mine, ReduceOp::Sum, 0, 0))?;
        assert_eq!(sums.shared(0, |rank0| rank0.load(0))?, Complex::new(4.0, 6.0));
        let squared = sums.shared(0, |rank0| rank0.fetch_op(0, Complex::new(0.0, 0.0), ReduceOp::NoOp))?;
        assert_eq!(squared.norm_sqr(), 52.0);
        world.barrier()?;
        sums.free()?;

        let mut pods = world.allocate::<Pod<[u16; 3]>>(1)?;
        let mut plain = world.allocate::<Plain<[i8; 5]>>(1)?;
        pods.fence_epoch(|epoch| epoch.put_value(Pod([1, 2, 3]), right, 0))?;
        plain.fence_epoch(|epoch| epoch.put_value(Plain([-1; 5]), right, 0))?;
        assert_eq!((pods.local().get(0).0, plain.local().get(0).0), ([1, 2, 3], [-1; 5]));
        pods.free()?;
        plain.free()
    });
}

#[test]
fn views_of_arrays_are_buffers_and_layouts() {
    on_both_paths(2, |world| {
        let mut window = world.allocate::<u32>(24)?;
        let other = 1 - world.rank();
        let mut cube = Array3::from_shape_fn((2, 3, 4), |(x, y, z)| (100 * x + 10 * y + z) as u32);
        let all = Layout::of_array(&cube)?;
        window.exclusive(other, |locked| locked.put_array(cube.view(), 0, &all))?;
        world.barrier()?;
        // A face by its layout here, and by its layout there; then rows backwards.
        let mut face = Array2::zeros((2, 4));
        let mut reversed = cube.clone();
        let middle = Layout::of_array(&cube.slice(s![.., 1, ..]))?;
        window.lock_all(|all_ranks| {
            all_ranks.get_array(face.view_mut(), other, 4, &middle)?;
            all_ranks.get_array(reversed.slice_mut(s![.., ..;-1, ..]), other, 0, &all)
        })?;
        assert_eq!(face, cube.slice(s![.., 1, ..]));
        cube.invert_axis(ndarray::Axis(1));
        assert_eq!(reversed, cube);
        let error = Layout::of_array(&cube).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Arg, "{error}");
        world.barrier()?;
        window.free()
    });
}
