// AttributeProto and ValueInfoProto: from wire bytes to attributes and values of the graph.
#pragma once

#include <memory>

#include "base/status.h"
#include "importers/onnx/external.h"
#include "importers/onnx/wire.h"
#include "ir/graph.h"

namespace fettle::onnx {

/// The value of an attribute that is neither a sub-graph nor a reference. Tensors as DecodeTensor
/// reads them. Fails with kInvalidModel or kUnsupported (sparse tensors, types, lists of tensors or
/// graphs); messages start with "attribute 'name'".
Result<ir::Attribute> DecodeAttribute(const AttributeRecord& record,
                                      const std::shared_ptr<const void>& owner,
                                      ExternalFiles* external);

/// A graph input or output with type, shape and symbolic extents; what the file leaves out stays
/// unknown, and so does an extent of -1. Fails with kInvalidModel on other negative or too large
/// extents, kUnsupported for sequences, maps, optionals, sparse tensors and strings; messages do
/// not name the value.
Result<ir::Value> DecodeValueInfo(const NamedRecord& record);

}  // namespace fettle::onnx
