//! Handles that are there from the start, in the three ABIs.

/// One predefined object: its handles in the standard ABI and in MPICH's, and the variable that it is in Open MPI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) standard: usize,
    /// 0 where there is none.
    pub(crate) mpich: u32,
    /// Empty where there is none.
    pub(crate) open_mpi: &'static str,
}

/// Predefined datatypes.
pub(crate) const DATATYPES: &[Named] = &[
    Named { standard: 0x200, mpich: 0x0c000000, open_mpi: "ompi_mpi_datatype_null" }, // MPI_DATATYPE_NULL
    Named { standard: 0x201, mpich: 0x4c000843, open_mpi: "ompi_mpi_aint" },          // MPI_AINT
    Named { standard: 0x202, mpich: 0x4c000845, open_mpi: "ompi_mpi_count" },         // MPI_COUNT
    Named { standard: 0x203, mpich: 0x4c000844, open_mpi: "ompi_mpi_offset" },        // MPI_OFFSET
    Named { standard: 0x207, mpich: 0x4c00010f, open_mpi: "ompi_mpi_packed" },        // MPI_PACKED
    Named { standard: 0x208, mpich: 0x4c000203, open_mpi: "ompi_mpi_short" },         // MPI_SHORT
    Named { standard: 0x209, mpich: 0x4c000405, open_mpi: "ompi_mpi_int" },           // MPI_INT
    Named { standard: 0x20a, mpich: 0x4c000807, open_mpi: "ompi_mpi_long" },          // MPI_LONG
    Named { standard: 0x20b, mpich: 0x4c000809, open_mpi: "ompi_mpi_long_long_int" }, // MPI_LONG_LONG
    Named { standard: 0x20c, mpich: 0x4c000204, open_mpi: "ompi_mpi_unsigned_short" }, // MPI_UNSIGNED_SHORT
    Named { standard: 0x20d, mpich: 0x4c000406, open_mpi: "ompi_mpi_unsigned" },      // MPI_UNSIGNED
    Named { standard: 0x20e, mpich: 0x4c000808, open_mpi: "ompi_mpi_unsigned_long" }, // MPI_UNSIGNED_LONG
    Named { standard: 0x20f, mpich: 0x4c000819, open_mpi: "ompi_mpi_unsigned_long_long" }, // MPI_UNSIGNED_LONG_LONG
    Named { standard: 0x210, mpich: 0x4c00040a, open_mpi: "ompi_mpi_float" },              // MPI_FLOAT
    Named { standard: 0x212, mpich: 0x4c000840, open_mpi: "ompi_mpi_c_float_complex" }, // MPI_C_FLOAT_COMPLEX
    Named { standard: 0x213, mpich: 0x4c000834, open_mpi: "ompi_mpi_cxx_cplex" }, // MPI_CXX_FLOAT_COMPLEX
    Named { standard: 0x214, mpich: 0x4c00080b, open_mpi: "ompi_mpi_double" },    // MPI_DOUBLE
    Named { standard: 0x216, mpich: 0x4c001041, open_mpi: "ompi_mpi_c_double_complex" }, // MPI_C_DOUBLE_COMPLEX
    Named { standard: 0x217, mpich: 0x4c001035, open_mpi: "ompi_mpi_cxx_dblcplex" }, // MPI_CXX_DOUBLE_COMPLEX
    Named { standard: 0x218, mpich: 0x4c00041d, open_mpi: "ompi_mpi_logical" },      // MPI_LOGICAL
    Named { standard: 0x219, mpich: 0x4c00041b, open_mpi: "ompi_mpi_integer" },      // MPI_INTEGER
    Named { standard: 0x21a, mpich: 0x4c00041c, open_mpi: "ompi_mpi_real" },         // MPI_REAL
    Named { standard: 0x21b, mpich: 0x4c00081e, open_mpi: "ompi_mpi_cplex" },        // MPI_COMPLEX
    Named { standard: 0x21c, mpich: 0x4c00081f, open_mpi: "ompi_mpi_dblprec" },      // MPI_DOUBLE_PRECISION
    Named { standard: 0x21d, mpich: 0x4c001022, open_mpi: "ompi_mpi_dblcplex" },     // MPI_DOUBLE_COMPLEX
    Named { standard: 0x21e, mpich: 0x4c00011a, open_mpi: "ompi_mpi_character" },    // MPI_CHARACTER
    Named { standard: 0x220, mpich: 0x4c00100c, open_mpi: "ompi_mpi_long_double" },  // MPI_LONG_DOUBLE
    Named { standard: 0x224, mpich: 0x4c002042, open_mpi: "ompi_mpi_c_long_double_complex" }, // MPI_C_LONG_DOUBLE_COMPLEX
    Named { standard: 0x225, mpich: 0x4c002036, open_mpi: "ompi_mpi_cxx_ldblcplex" }, // MPI_CXX_LONG_DOUBLE_COMPLEX
    Named { standard: 0x228, mpich: 0x8c000000, open_mpi: "ompi_mpi_float_int" },     // MPI_FLOAT_INT
    Named { standard: 0x229, mpich: 0x8c000001, open_mpi: "ompi_mpi_double_int" },    // MPI_DOUBLE_INT
    Named { standard: 0x22a, mpich: 0x8c000002, open_mpi: "ompi_mpi_long_int" },      // MPI_LONG_INT
    Named { standard: 0x22b, mpich: 0x4c000816, open_mpi: "ompi_mpi_2int" },          // MPI_2INT
    Named { standard: 0x22c, mpich: 0x8c000003, open_mpi: "ompi_mpi_short_int" },     // MPI_SHORT_INT
    Named { standard: 0x22d, mpich: 0x8c000004, open_mpi: "ompi_mpi_longdbl_int" },   // MPI_LONG_DOUBLE_INT
    Named { standard: 0x230, mpich: 0x4c000821, open_mpi: "ompi_mpi_2real" },         // MPI_2REAL
    Named { standard: 0x231, mpich: 0x4c001023, open_mpi: "ompi_mpi_2dblprec" },      // MPI_2DOUBLE_PRECISION
    Named { standard: 0x232, mpich: 0x4c000820, open_mpi: "ompi_mpi_2integer" },      // MPI_2INTEGER
    Named { standard: 0x238, mpich: 0x4c00013f, open_mpi: "ompi_mpi_c_bool" },        // MPI_C_BOOL
    Named { standard: 0x239, mpich: 0x4c000133, open_mpi: "ompi_mpi_cxx_bool" },      // MPI_CXX_BOOL
    Named { standard: 0x23c, mpich: 0x4c00040e, open_mpi: "ompi_mpi_wchar" },         // MPI_WCHAR
    Named { standard: 0x240, mpich: 0x4c000137, open_mpi: "ompi_mpi_int8_t" },        // MPI_INT8_T
    Named { standard: 0x241, mpich: 0x4c00013b, open_mpi: "ompi_mpi_uint8_t" },       // MPI_UINT8_T
    Named { standard: 0x243, mpich: 0x4c000101, open_mpi: "ompi_mpi_char" },          // MPI_CHAR
    Named { standard: 0x244, mpich: 0x4c000118, open_mpi: "ompi_mpi_signed_char" },   // MPI_SIGNED_CHAR
    Named { standard: 0x245, mpich: 0x4c000102, open_mpi: "ompi_mpi_unsigned_char" }, // MPI_UNSIGNED_CHAR
    Named { standard: 0x247, mpich: 0x4c00010d, open_mpi: "ompi_mpi_byte" },          // MPI_BYTE
    Named { standard: 0x248, mpich: 0x4c000238, open_mpi: "ompi_mpi_int16_t" },       // MPI_INT16_T
    Named { standard: 0x249, mpich: 0x4c00023c, open_mpi: "ompi_mpi_uint16_t" },      // MPI_UINT16_T
    Named { standard: 0x250, mpich: 0x4c000439, open_mpi: "ompi_mpi_int32_t" },       // MPI_INT32_T
    Named { standard: 0x251, mpich: 0x4c00043d, open_mpi: "ompi_mpi_uint32_t" },      // MPI_UINT32_T
    Named { standard: 0x258, mpich: 0x4c00083a, open_mpi: "ompi_mpi_int64_t" },       // MPI_INT64_T
    Named { standard: 0x259, mpich: 0x4c00083e, open_mpi: "ompi_mpi_uint64_t" },      // MPI_UINT64_T
    Named { standard: 0x2c0, mpich: 0, open_mpi: "ompi_mpi_logical1" },               // MPI_LOGICAL1
    Named { standard: 0x2c1, mpich: 0x4c00012d, open_mpi: "ompi_mpi_integer1" },      // MPI_INTEGER1
    Named { standard: 0x2c8, mpich: 0, open_mpi: "ompi_mpi_logical2" },               // MPI_LOGICAL2
    Named { standard: 0x2c9, mpich: 0x4c00022f, open_mpi: "ompi_mpi_integer2" },      // MPI_INTEGER2
    Named { standard: 0x2ca, mpich: 0, open_mpi: "" },                                // MPI_REAL2
    Named { standard: 0x2d0, mpich: 0, open_mpi: "ompi_mpi_logical4" },               // MPI_LOGICAL4
    Named { standard: 0x2d1, mpich: 0x4c000430, open_mpi: "ompi_mpi_integer4" },      // MPI_INTEGER4
    Named { standard: 0x2d2, mpich: 0x4c000427, open_mpi: "ompi_mpi_real4" },         // MPI_REAL4
    Named { standard: 0x2d3, mpich: 0, open_mpi: "" },                                // MPI_COMPLEX4
    Named { standard: 0x2d8, mpich: 0, open_mpi: "ompi_mpi_logical8" },               // MPI_LOGICAL8
    Named { standard: 0x2d9, mpich: 0x4c000831, open_mpi: "ompi_mpi_integer8" },      // MPI_INTEGER8
    Named { standard: 0x2da, mpich: 0x4c000829, open_mpi: "ompi_mpi_real8" },         // MPI_REAL8
    Named { standard: 0x2db, mpich: 0x4c000828, open_mpi: "ompi_mpi_complex8" },      // MPI_COMPLEX8
    Named { standard: 0x2e0, mpich: 0, open_mpi: "" },                                // MPI_LOGICAL16
    Named { standard: 0x2e1, mpich: 0, open_mpi: "" },                                // MPI_INTEGER16
    Named { standard: 0x2e2, mpich: 0x4c00102b, open_mpi: "ompi_mpi_real16" },        // MPI_REAL16
    Named { standard: 0x2e3, mpich: 0x4c00102a, open_mpi: "ompi_mpi_complex16" },     // MPI_COMPLEX16
    Named { standard: 0x2eb, mpich: 0x4c00202c, open_mpi: "ompi_mpi_complex32" },     // MPI_COMPLEX32
];

/// Predefined operations.
pub(crate) const OPERATIONS: &[Named] = &[
    Named { standard: 0x020, mpich: 0x18000000, open_mpi: "ompi_mpi_op_null" }, // MPI_OP_NULL
    Named { standard: 0x021, mpich: 0x58000003, open_mpi: "ompi_mpi_op_sum" },  // MPI_SUM
    Named { standard: 0x022, mpich: 0x58000002, open_mpi: "ompi_mpi_op_min" },  // MPI_MIN
    Named { standard: 0x023, mpich: 0x58000001, open_mpi: "ompi_mpi_op_max" },  // MPI_MAX
    Named { standard: 0x024, mpich: 0x58000004, open_mpi: "ompi_mpi_op_prod" }, // MPI_PROD
    Named { standard: 0x028, mpich: 0x58000006, open_mpi: "ompi_mpi_op_band" }, // MPI_BAND
    Named { standard: 0x029, mpich: 0x58000008, open_mpi: "ompi_mpi_op_bor" },  // MPI_BOR
    Named { standard: 0x02a, mpich: 0x5800000a, open_mpi: "ompi_mpi_op_bxor" }, // MPI_BXOR
    Named { standard: 0x030, mpich: 0x58000005, open_mpi: "ompi_mpi_op_land" }, // MPI_LAND
    Named { standard: 0x031, mpich: 0x58000007, open_mpi: "ompi_mpi_op_lor" },  // MPI_LOR
    Named { standard: 0x032, mpich: 0x58000009, open_mpi: "ompi_mpi_op_lxor" }, // MPI_LXOR
    Named { standard: 0x038, mpich: 0x5800000b, open_mpi: "ompi_mpi_op_minloc" }, // MPI_MINLOC
    Named { standard: 0x039, mpich: 0x5800000c, open_mpi: "ompi_mpi_op_maxloc" }, // MPI_MAXLOC
    Named { standard: 0x03c, mpich: 0x5800000d, open_mpi: "ompi_mpi_op_replace" }, // MPI_REPLACE
    Named { standard: 0x03d, mpich: 0x5800000e, open_mpi: "ompi_mpi_op_no_op" }, // MPI_NO_OP
];
