// An input given on the command line takes the place of the config's own.
#pragma once
#include <string>

#include "spec/node.h"

namespace headwright::bind {

struct InputChoice {
  enum class Key { file, tokens, random };
  Key key = Key::file;
  std::string text;  // "x.npy", "x.safetensors:name", "15496,11,314" (rows apart by ';'), "2,6,768"
};

/// Replaces values, tokens, file and random of `input` by the choice; its mark is the option.
void choose_input(spec::Node& root, const InputChoice& choice);

}  // namespace headwright::bind
