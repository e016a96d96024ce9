//! Script and DriverManager.

use super::*;

#[test]
fn scripts_compute_and_print() {
    let text = "s :: Script(set x 0 | label a | printn $x | set x $(s.add $x 1) | goto a $(lt $x 5) | print \" $(add 1 2) $(sub 10 2.5)\" | stop)\n m :: DriverManager";
    assert_eq!(printed(text), "01234 3 7.5\n");
}

#[test]
fn quotes_and_handlers_in_print() {
    let text = "q :: Queue\n i :: Idle\n j :: Idle\n i -> q -> j\n s :: Script(print q.length | print \"q.length\" | print '\"q.length\"' | set x q.length | print $x | set y \"$(q.length)\" | print '$y' | setq y \"$(q.length)\" | print $y | print '$nothing')\n m :: DriverManager";
    assert_eq!(printed(text), "0\nq.length\n\"q.length\"\nq.length\n$y\n0\n$nothing\n");
}

#[test]
fn passive_scripts_answer() {
    let text = "i2 :: Idle\n p :: Script(TYPE PASSIVE | return $(add $1 $2 $#))\n n :: Script(TYPE PASSIVE | return i2)
        s :: Script(print $(p.run 3 4) | print $($(n.run).name) | set j p | print $($j.run 1 1))\n m :: DriverManager";
    assert_eq!(printed(text), "9\ni2\n4\n");
}

#[test]
fn packet_scripts_choose_outputs() {
    let text = "a :: InfiniteSource(LIMIT 7)\n s :: Script(init i 0 | set j $i | set i $(mod $(add $i 1) 3) | return $j)\n x :: Discard\n y :: Discard\n a -> s -> x\n s [1] -> y";
    assert_eq!(handlers(text, &["x.count", "y.count", "s.drops_by_reason"]), ["3", "2", "2 output not connected\n"]);
}

#[test]
fn a_driver_decides_on_the_end() {
    let text = "s :: Script(wait 0.5s | stop)\n m :: DriverManager(pause | print 'one' | wait 1s | print $(now) | stop)";
    assert_eq!(printed(text), "one\n1000000001.500000\n");
    assert_eq!(printed("m :: DriverManager(wait 1 | print 'a' | pause | print 'b')\n s :: Script(wait 0.5 | write stop)"), "a\nb\n");
    assert_eq!(printed("m :: DriverManager(print 'x')"), "x\n");
}

#[test]
fn texts_of_scripts_do_not_grow_without_end() {
    let told = told("s :: Script(set x 0123456789abcdef | label a | set x $x$x$x$x$x$x$x$x | goto a)");
    let lines: Vec<&str> = told.lines().filter(|line| line.contains("bytes is left out")).collect();
    assert_eq!(lines, ["  a text of more than 1048576 bytes is left out"], "{}", told.len());
}

#[test]
fn a_script_that_jumps_for_ever_is_given_up() {
    assert_eq!(told("s :: Script(label a | goto a)"), "s :: Script: too many jumps, giving up\n");
}

#[test]
fn writes_that_fail_are_told() {
    let text = "s :: Script(write nobody.x 1 | print $? | write s.step | print '$?' | error 'enough' | print 'never')";
    assert_eq!(printed(text), "-1\n$?\n");
    assert_eq!(
        told(text),
        "While executing 's :: Script':\n  no element named 'nobody'\nWhile executing 's :: Script':\n  's.step' belongs to an element that is running\n\
         While executing 's :: Script':\n  enough\n"
    );
}

#[test]
fn steps_and_jumps_from_outside() {
    let text =
        "a :: Script(pause 2 | print 'on' | pause | label x | print 'x' | end)\n s :: Script(write a.step | write a.step | write a.goto x)";
    assert_eq!(printed(text), "on\nx\n");
}

#[test]
fn names_are_looked_up_in_the_compound_first() {
    let text = "q :: Queue(5)\n c/q :: Queue(7)\n c/s :: Script(print q.capacity | print c/q.capacity)\n i :: Idle\n j :: Idle\n i -> q -> j\n i [1] -> c/q -> [1] j";
    assert_eq!(printed(text), "7\n7\n");
}

#[test]
fn wrong_scripts_are_refused() {
    assert_eq!(refusal("s :: Script(jump)"), "syntax error at 'jump'");
    assert_eq!(refusal("s :: Script(goto nowhere)"), "no such label 'nowhere'");
    assert_eq!(refusal("s :: Script(set x)"), "syntax error at 'set'");
    assert!(refusal("s :: Script(TYPE LARGE)").contains("'LARGE'"));
    assert!(refusal("s :: Script(TYPE PACKET)").contains("inputs"));
}

#[test]
fn deep_nesting_ends() {
    let inner = (0..200).fold("1".to_owned(), |text, _| format!("$(add {text})"));
    assert!(printed(&format!("s :: Script(print '' | set x {inner})\n m :: DriverManager")).starts_with('\n'));
    let scripts: String = (0..100).map(|n| format!("p{n} :: Script(TYPE PASSIVE | return $(p{}.run))\n", n + 1)).collect();
    assert!(told(&format!("{scripts} p100 :: Script(TYPE PASSIVE | return 1)\n s :: Script(set x $(p0.run))")).contains("too deeply"));
}

#[test]
fn every_element_has_handlers() {
    let text = "q :: Queue(5)\n i :: Idle\n j :: Idle\n i -> q -> j";
    let values = handlers(text, &["q.class", "q.name", "q.config", "list", "q.ports"]);
    assert_eq!(values[..4], ["Queue", "q", "5", "3\nq\ni\nj\n"]);
    assert_eq!(values[4], "1 input\npush\t-\ti [0]\n1 output\npull\t-\t[0] j\n");
}
