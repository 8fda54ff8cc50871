// The lessons in groups, a file each. A new lesson is a row in one of them.
#pragma once
#include <vector>

#include "lessons/lesson_lab.h"

namespace headwright::lessons {

struct LessonScript {
  LessonInfo info;
  void (*teach)(Lab& lab);
};

std::vector<LessonScript> lessons_without_parameters();  // 3.3
std::vector<LessonScript> lessons_with_parameters();     // 3.4
std::vector<LessonScript> lessons_on_causality();        // 3.5
std::vector<LessonScript> lessons_on_heads();            // 3.6
std::vector<LessonScript> lessons_on_words();            // cat sat mat

}  // namespace headwright::lessons
