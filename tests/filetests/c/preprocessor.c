=== macros
#include <netvm.h>
#include "a.h"
ELEMENT(E, "1/1", "a/a");
#define TWO(a, b) ((a) + (b))
#define TWO(a) 1
#define BROKEN(x ((x))
#define PASTE ## x
#define NAME(a) name_##a
#define BAD(a) a##+
#define TEXT(x) #x
#define LOOP LOOP + 1
static int NAME(one) = TWO(1, 2);
static int t = TWO(1);
static int l = LOOP;
void packet(int port)
{
    print(TEXT(a "b\n" c));
    BAD(x);
    WRONG(name_one);
    name_one = TWO(1, undefined);
    TWO(1,
    emit(0);
}
--- a.h
#pragma once
#define WRONG(x) x = &x + wrong_in_header
=== conditions
#include <netvm.h>
#if 1 +
#elif (2
#endif
#else
#if 0
this is not read '
#elif defined(__NETVM__) && !defined NOT && 1 << 2 == 4
ELEMENT(E, "1/1", "a/a");
#else
#error not this
#else
#endif
#ifdef
#endif
#unknown
#define
#undef
#error this is an error of the text
#ifndef ELEMENT2
void packet(int port) { emit(0); }
=== includes
#include <netvm.h>
#include "missing.h"
#include nothing
#include "itself.h"
ELEMENT(E, "1/1", "a/a");
void packet(int port) { emit(0); }
--- itself.h
#include "itself.h"
=== text
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static int a = 'ab' + '\q' + 08 + 0x + 12q + 99999999999999999999;
void packet(int port)
{
    print("not closed);
    print("bad \q escape");
    $ @ `;
    emit(0)
}
/* not closed
=== syntax
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
static int a
static int b;
static int c = (1 + ;
static void f(int) { return }
void packet(int port)
{
    if port emit(0);
    while (1 { }
    int x = 1 2;
    for (;;) ;
    else { }
    do { } while 1;
    x = [1];
    switch (x) { int y; case 1: break; }
    switch (x) case 1: ;
    emit(0);
=== tricks
#include <netvm.h>
ELEMENT(E, "1/1", "a/a");
PARAM(u32, n, "N", OPTIONAL(3));
struct s { u8 a; be16 b; };
void packet(int port)
{
    struct s *s = header(struct s, 0);
    typedef u32 word;
    word w = (word) n, *unused;
    s->a = w > 2 ? (u8) w : sizeof(struct s);
    s->b ^= htons(1);
    for (u32 i = 0, j = 1; i < 3; i++, j += i)
        if (i == 1) continue; else s->a += j;
    emit(s->a == 3 ? 0 : 1);
}
--- values
n 3
=== bytes that are not UTF-8, as they are read
#include <netvm.h>
/* in a comment: � */
ELEMENT(E, "1/1", "a/a");
void packet(int port) { print("caf�"); emit(0); }
=== no header
/* an element */
ELEMENT(E, "1/1", "a/a");
void packet(int port) { emit(0); }
=== the header by way of another, and its guard
#include "mine.h"
#ifndef NETVM_H
#error no netvm.h
#endif
ELEMENT(E, "1/1", "a/a");
void packet(int port) { emit(0); }
--- mine.h
#include <netvm.h>
