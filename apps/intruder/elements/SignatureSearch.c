/*
 * SignatureSearch([keyword OWN]) -- looks for attacks in messages
 *
 * For messages from Reassembler. One with an attack's signature in it leaves by output 0, with the signature's number from 1 in the paint annotation; others leave by output 1. All
 * signatures are searched for at once.
 *
 *   OWN  a signature of yours, number 9
 *
 * Handlers: attacks, clean (read): messages of each sort; top (read): a line for each signature that was found: how often, and its number.
 *
 * Source: the paper of NetTM, Table 1 (Intruder2); Aho and Corasick, Efficient string matching (1975). See also: Reassembler, LastAlert, StringSwitch.
 */
#include <netvm.h>
#include "click.h"

ELEMENT(SignatureSearch, "1/2", "a/ah");
PARAM(string, own, "OWN", KEYWORD("\x01\x02\x03\x04 no signature"));

enum { SIGNATURES = 9, HEADER = 6 };

STRINGS(signatures, "/bin/sh -c 'cat /etc/shadow'", "../../../../etc/passwd", "<script>document.cookie", "' OR '1'='1' --", "cmd.exe /c ping",
        "wget http://198.51.100.6/x.sh", "${jndi:ldap://", "() { :; }; echo", own);

static u64 found[SIGNATURES];
static u64 attacks, clean;

void packet(int port)
{
    int which = strings_find(signatures, HEADER, packet_length());

    if (which < 0) {
        clean += 1;
        emit(1);
    }
    found[which] += 1;
    attacks += 1;
    info(paint) = (u8) (which + 1);
    emit(0);
}

static void print_found(void)
{
    for (u32 i = 0; i < SIGNATURES; i++)
        if (found[i] > 0) {
            print_uint(found[i]);
            print(" ");
            print_uint(i + 1);
            print("\n");
        }
}

READ(attacks, u64, attacks);
READ(clean, u64, clean);
READ_CALL(top, text, print_found);
