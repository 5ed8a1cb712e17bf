// The ladder of matrix products of OpenCL devices.
#pragma once

#include "kernels/ladder.h"

namespace fettle::kernels {

ProductLadder OpenClProductLadder();

}  // namespace fettle::kernels
