//! The files by which build systems find the library: pkg-config and CMake. Both find the prefix from their own place.

/// `lib/pkgconfig/rma.pc`.
pub(super) fn pkg_config(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         bindir=${{prefix}}/bin\n\
         \n\
         Name: rma\n\
         Description: MPI one-sided communication, with the standard ABI of MPI 5.0\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}}/link -Wl,-rpath,${{libdir}} -lmpi_abi\n"
    )
}

/// `lib/pkgconfig/rma-embed.pc`.
pub(super) fn pkg_config_of_embed(version: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: rma-embed\n\
         Description: the engine of MPI one-sided communication, for libraries that bring their own transport and runtime\n\
         Version: {version}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lrma\n"
    )
}

/// `lib/cmake/rma/rma-config.cmake`.
pub(super) fn cmake_config() -> &'static str {
    "# The target rma::mpi_abi, and rma_MPIEXEC_EXECUTABLE, the launcher.\n\
     get_filename_component(_rma_prefix \"${CMAKE_CURRENT_LIST_DIR}/../../..\" ABSOLUTE)\n\
     if(NOT TARGET rma::mpi_abi)\n\
     \x20 add_library(rma::mpi_abi SHARED IMPORTED)\n\
     \x20 set_target_properties(rma::mpi_abi PROPERTIES\n\
     \x20   IMPORTED_LOCATION \"${_rma_prefix}/lib/link/libmpi_abi.so\"\n\
     \x20   IMPORTED_SONAME \"libmpi_abi.so.1\"\n\
     \x20   INTERFACE_INCLUDE_DIRECTORIES \"${_rma_prefix}/include\")\n\
     endif()\n\
     set(rma_MPIEXEC_EXECUTABLE \"${_rma_prefix}/bin/rmarun\")\n\
     unset(_rma_prefix)\n"
}

/// `lib/cmake/rma/rma-config-version.cmake`. A version serves a request for it or an earlier one with the
/// same first number; before 1.0, with the same first two.
pub(super) fn cmake_version(version: &str) -> String {
    let mut numbers = version.split('.');
    let (major, minor) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
    let is_same = match major {
        "0" => format!("PACKAGE_FIND_VERSION_MAJOR EQUAL 0 AND PACKAGE_FIND_VERSION_MINOR EQUAL {minor}"),
        _ => format!("PACKAGE_FIND_VERSION_MAJOR EQUAL {major}"),
    };
    format!(
        "set(PACKAGE_VERSION \"{version}\")\n\
         if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
         elseif({is_same})\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE TRUE)\n\
         else()\n\
         \x20 set(PACKAGE_VERSION_COMPATIBLE FALSE)\n\
         endif()\n\
         if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)\n\
         \x20 set(PACKAGE_VERSION_EXACT TRUE)\n\
         endif()\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_version_one_the_second_number_counts() {
        assert!(cmake_version("0.3.1").contains("MAJOR EQUAL 0 AND PACKAGE_FIND_VERSION_MINOR EQUAL 3)"));
        assert!(cmake_version("2.3.1").contains("elseif(PACKAGE_FIND_VERSION_MAJOR EQUAL 2)"));
    }
}
