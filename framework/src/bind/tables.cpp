// The sections of a config as tables, for whoever walks all of them.
#include "bind/tables.h"

namespace headwright::bind {
namespace {

std::vector<Structure> sources() {
  return {{"values", "features, as nested lists: batch, seq, width"}, {"random", "a seeded random tensor"}};
}

std::vector<Structure> input_structures() {
  auto structures = sources();
  structures.push_back({"tokens", "token ids, as nested lists: batch, seq"});
  structures.push_back({"lengths", "visible tokens of each row, from its start; the rest is padding"});
  structures.push_back({"key_mask", "true = visible, as nested lists: batch, seq"});
  structures.push_back(
      {"document_ids", "tokens of one document share a number, as nested lists: batch, seq; or a file"});
  structures.push_back(
      {"positions", "where each token stands, as nested lists: batch, seq; or a file; absent = see model.positions"});
  structures.push_back(
      {"token_types", "the kind of each token, as nested lists: batch, seq; or a file; absent = all 0"});
  structures.push_back({"memory", "what cross-attention reads, or what the encoder does"});
  return structures;
}

std::vector<Structure> memory_structures() {
  auto structures = sources();
  structures.push_back({"tokens", "token ids of an encoder with an embedding, as nested lists: batch, memory_len"});
  structures.push_back({"lengths", "visible tokens of each row, from its start; the rest is padding"});
  structures.push_back({"key_mask", "true = visible, as nested lists: batch, memory_len"});
  return structures;
}

}  // namespace

std::vector<std::string> Table::keys() const {
  std::vector<std::string> names;
  for (const auto& row : rows) names.push_back(row.name);
  for (const auto& structure : structures) names.emplace_back(structure.key);
  return names;
}

const Table& top_table() {
  static const Table table{"",
                           specs_of<TopKeys>(),
                           {{"model", "what is computed", true},
                            {"run", "how and where it is computed"},
                            {"input", "what it is computed on"}}};
  return table;
}

const Table& model_table() {
  static const Table table{"model",
                           specs_of<ModelKeys>(),
                           {{"positions", "how positions are counted where the input gives none"},
                            {"encoder", "encodes the memory; absent = cross-attention reads it unencoded"},
                            {"blocks", "named blocks", true},
                            {"layers", "the stack, first to last; absent = the only block, once"}}};
  return table;
}

const Table& encoder_table() {
  static const Table table{"model.encoder",
                           specs_of<EncoderKeys>(),
                           {{"positions", "how positions are counted"},
                            {"blocks", "named blocks", true},
                            {"layers", "the stack, first to last; absent = the only block, once"}}};
  return table;
}

const Table& positions_table() {
  static const Table table{"model.positions", specs_of<PositionsKeys>(), {}};
  return table;
}

const Table& block_table() {
  static const Table table{
      "model.blocks.NAME",
      specs_of<BlockKeys>(),
      {{"sublayers", "the long form, in place of order, norm, dropout and the components: a list, first to last"}}};
  return table;
}

const Table& sublayer_table() {
  static const Table table{"model.blocks.NAME.sublayers", specs_of<SublayerKeys>(), {}};
  return table;
}

const Table& layer_table() {
  static const Table table{"model.layers", specs_of<LayerKeys>(), {}};
  return table;
}

const Table& run_table() {
  static const Table table{"run", specs_of<RunKeys>(), {}};
  return table;
}

const Table& input_table() {
  static const Table table{"input", specs_of<SourceKeys>(), input_structures()};
  return table;
}

const Table& memory_table() {
  static const Table table{"input.memory", specs_of<SourceKeys>(), memory_structures()};
  return table;
}

const Table& ids_table() {
  static const Table table{"input.document_ids, input.positions, input.token_types", specs_of<SourceKeys>(), {}};
  return table;
}

const Table& random_table() {
  static const Table table{"input.random", specs_of<RandomKeys>(), {}};
  return table;
}

std::vector<const Table*> all_tables() {
  return {&top_table(),     &model_table(), &positions_table(), &block_table(),  &sublayer_table(), &layer_table(),
          &encoder_table(), &run_table(),   &input_table(),     &memory_table(), &ids_table(),      &random_table()};
}

}  // namespace headwright::bind
